#include "counters/locate.hpp"

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#ifndef GPUTOPO_CUPTI_MAJOR
#define GPUTOPO_CUPTI_MAJOR 13
#endif
#ifndef GPUTOPO_CUDA_TOOLKIT
#define GPUTOPO_CUDA_TOOLKIT ""
#endif

namespace gputopo::counters {
namespace {

// The structures passed to CUPTI are those of one major version.
std::string library_name() {
  return fmt::format("libcupti.so.{}", GPUTOPO_CUPTI_MAJOR);
}

void add_toolkit(std::vector<std::string>& names, const std::string& toolkit) {
  if (toolkit.empty()) return;
  for (const char* folder : {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
    names.push_back(fmt::format("{}/{}/{}", toolkit, folder, library_name()));
}

}  // namespace

std::vector<std::string> cupti_candidates(const Environment& environment) {
  if (const auto asked = environment("GPUTOPO_CUPTI"); asked && !asked->empty()) {
    if (asked->find(".so") != std::string::npos) return {*asked};
    return {fmt::format("{}/{}", *asked, library_name()), fmt::format("{}/libcupti.so", *asked)};
  }
  std::vector<std::string> names{library_name()};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto toolkit = environment(variable)) add_toolkit(names, *toolkit);
  add_toolkit(names, GPUTOPO_CUDA_TOOLKIT);
  add_toolkit(names, "/usr/local/cuda");
  return names;
}

std::vector<std::string> cupti_candidates() {
  return cupti_candidates([](const std::string& name) -> std::optional<std::string> {
    const char* value = secure_getenv(name.c_str());  // what it names is loaded as code
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace gputopo::counters
