#include "device/open/installed.hpp"

#include <filesystem>
#include <fstream>
#include <set>

namespace gputopo::device {
namespace {

namespace fs = std::filesystem;

std::set<std::string> entries(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    names.insert(it->path().filename());
  return names;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool is_nvidia_gpu(const fs::path& device) {
  // Display controllers, VGA (0x0300) and 3D (0x0302), and processing accelerators (0x1200). NVIDIA makes bridges, sound
  // and network devices, too.
  const std::string kind = first_line(device / "class");
  return first_line(device / "vendor") == "0x10de" && (kind.starts_with("0x03") || kind.starts_with("0x12"));
}

}  // namespace

std::string installed_gpu(const std::string& root) {
  for (const std::string& name : entries(root + "/proc/driver/nvidia/gpus")) return name;
  const fs::path devices = root + "/sys/bus/pci/devices";
  for (const std::string& name : entries(devices))
    if (is_nvidia_gpu(devices / name)) return name;
  return {};
}

}  // namespace gputopo::device
