#include "store/machine.hpp"

#include <algorithm>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "files/descriptor.hpp"

namespace gputopo::store {
namespace {

// Kernel files of a few hundred bytes; whatever is longer is cut.
std::string read_small_file(const std::string& path) {
  constexpr std::size_t limit = 4096;
  const files::Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::string text(limit, '\0');
  const ssize_t length = file.is_open() ? read(file.get(), text.data(), text.size()) : -1;
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == text.npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(space) - first + 1));
}

// The value of a line "Key:   value".
std::string field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':')
      return trimmed(line.substr(key.size() + 1));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...": the first word made of digits and dots.
std::string version_in(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos) return std::string(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return {};
}

}  // namespace

std::string normal_bus_id(const std::string& bus_id) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int used = 0;
  if (std::sscanf(bus_id.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4 ||
      bus_id[static_cast<std::size_t>(used)] != '\0')
    return {};
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

Machine read_machine(const std::string& root) {
  Machine machine;
  const std::string gpus = root + "/proc/driver/nvidia/gpus";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(gpus.c_str()), closedir);
  if (!folder) return machine;
  while (const dirent* entry = readdir(folder.get())) {
    InstalledGpu gpu;
    gpu.pci_bus_id = normal_bus_id(entry->d_name);
    if (gpu.pci_bus_id.empty()) continue;
    const std::string text = read_small_file(gpus + "/" + entry->d_name + "/information");
    gpu.name = field(text, "Model");
    gpu.uuid = field(text, "GPU UUID");
    gpu.local_cpus = trimmed(read_small_file(root + "/sys/bus/pci/devices/" + gpu.pci_bus_id + "/local_cpulist"));
    // The driver shows question marks until somebody has used the GPU.
    if (gpu.uuid.find('?') != gpu.uuid.npos) gpu.uuid.clear();
    machine.gpus.push_back(std::move(gpu));
  }
  std::sort(machine.gpus.begin(), machine.gpus.end(),
            [](const InstalledGpu& a, const InstalledGpu& b) { return a.pci_bus_id < b.pci_bus_id; });
  machine.driver_version = trimmed(read_small_file(root + "/sys/module/nvidia/version"));
  if (machine.driver_version.empty())
    machine.driver_version = version_in(read_small_file(root + "/proc/driver/nvidia/version"));
  return machine;
}

}  // namespace gputopo::store
