#include "cli/doctor_programs.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "files/files.hpp"
#include "store/simulated.hpp"

namespace gputopo::cli {
namespace {

using Result = Check::Result;
namespace fs = std::filesystem;

constexpr std::size_t most_output = 1 << 20;

std::string in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    std::string candidate = fmt::format("{}/{}", rest.substr(0, colon), program);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  return {};
}

// What a command prints, at most `most_output` of it.
std::string output_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command, "r"), ::pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe && text.size() < most_output) {
    const std::size_t count = std::fread(part.data(), 1, part.size(), pipe.get());
    if (count == 0) break;
    text.append(part.data(), count);
  }
  return text;
}

bool opens_a_gpu(const fs::path& process) {
  std::error_code failed;
  for (fs::directory_iterator fd(process / "fd", failed), end; !failed && fd != end; fd.increment(failed)) {
    std::error_code unreadable;
    const std::string target = fs::read_symlink(fd->path(), unreadable).string();
    constexpr std::string_view node = "/dev/nvidia";
    if (!unreadable && target.starts_with(node) && target.size() > node.size() && target[node.size()] >= '0' &&
        target[node.size()] <= '9')
      return true;
  }
  return false;
}

}  // namespace

Check lstopo() {
  if (in_path("lstopo-no-graphics").empty())
    return {Result::limited, "lstopo", "it isn't in PATH", "to see GPUs in it, install hwloc"};
  const std::string said = output_of(
      "HWLOC_COMPONENTS_VERBOSE=1 timeout 20 lstopo-no-graphics --only machine --of console - 2>&1 </dev/null");
  if (said.find("component `gputopo'") == std::string::npos)
    return {Result::limited, "lstopo", "it doesn't find the plugin hwloc_gputopo.so",
            "set HWLOC_PLUGINS_PATH to the plugin's folder, a colon and hwloc's own folder (docs/hwloc.md)"};
  return {Result::good, "lstopo", "finds the plugin", {}};
}

Check likwid() {
  std::string path = in_path("likwid-topology-gputopo");
  if (path.empty()) path = in_path("likwid-topology");
  if (path.empty())
    return {Result::limited, "LIKWID", "likwid-topology isn't in PATH", "to see GPUs in it, install likwid"};
  const auto script = files::read_file(path, most_output);
  if (script && script->find("likwid_gputopo") == std::string::npos)
    return {Result::limited, "LIKWID", path + " isn't patched, and shows no GPU caches",
            "put the patched copy's folder first in PATH (docs/likwid.md)"};
  return {Result::good, "LIKWID", path + " is patched", {}};
}

std::vector<Check> simulated_gpus(const store::Environment& environment) {
  std::vector<Check> checks;
  for (const std::string& name : store::simulated_names(environment)) {
    if (const auto known = store::simulated_topology(name))
      checks.push_back({Result::good, "GPUTOPO_SIMULATE", fmt::format("{}: shown as simulated", name), {}});
    else
      checks.push_back({Result::limited, "GPUTOPO_SIMULATE", known.error().message, "or unset GPUTOPO_SIMULATE"});
  }
  return checks;
}

std::vector<Check> users_of_gpus(const std::string& root) {
  std::vector<Check> checks;
  std::error_code failed;
  for (fs::directory_iterator process(root + "/proc", failed), end; !failed && process != end;
       process.increment(failed)) {
    const std::string pid = process->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == std::to_string(::getpid())) continue;
    if (!opens_a_gpu(process->path())) continue;
    auto name = files::read_file((process->path() / "comm").string(), 64);
    if (!name) continue;
    while (!name->empty() && name->back() == '\n') name->pop_back();
    if (*name == "nvidia-persiste") continue;  // keeps GPUs open and uses none
    checks.push_back({Result::limited, "Others on the GPU", fmt::format("process {} ({}) has one open", pid, *name),
                      "measure when it has ended: others' work hides what is measured"});
  }
  return checks;
}

}  // namespace gputopo::cli
