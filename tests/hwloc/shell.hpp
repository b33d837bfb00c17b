// Running other programs with a chosen environment.
#pragma once

#include <cstdio>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace gputopo {

using Variables = std::map<std::string, std::string>;

inline const std::string real_component = GPUTOPO_BINARY_DIR "/lib/hwloc";
inline const std::string test_component = GPUTOPO_BINARY_DIR "/tests/hwloc-plugin";
inline const std::string hosts = GPUTOPO_BINARY_DIR "/tests/hwloc-hosts";
inline const std::string two_gpus = GPUTOPO_SOURCE_DIR "/tests/fixtures/hwloc/two-gpus.xml";

struct Outcome {
  int status = -1;
  std::string output;
};

/// Runs a shell command in an environment that has nothing of ours but `variables`; stderr is part of the output
/// unless the command says otherwise.
inline Outcome run(const std::string& command, const Variables& variables) {
  std::string line = "exec 2>&1; unset GPUTOPO_STORE GPUTOPO_SIMULATE XDG_CACHE_HOME HOME;";
  for (const auto& [name, value] : variables) line += " export " + name + "='" + value + "';";
  Outcome outcome;
  std::FILE* pipe = popen((line + " " + command).c_str(), "r");
  if (pipe == nullptr) return outcome;
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof(part), pipe)) > 0;) outcome.output.append(part, got);
  outcome.status = pclose(pipe);
  return outcome;
}

/// hwloc's own plugins (PCI, XML) beside ours: HWLOC_PLUGINS_PATH replaces the default.
inline std::string plugins(const std::string& ours) {
  return ours + ":" GPUTOPO_HWLOC_PLUGINS;
}

/// Without a GPU, with the simulated one of that name.
inline Variables simulating(const std::string& name) {
  return {{"HWLOC_PLUGINS_PATH", plugins(real_component)}, {"GPUTOPO_SIMULATE", name}, {"HWLOC_DEBUG_CHECK", "1"}};
}

inline bool has_program(const char* name) {
  return run(std::string("command -v ") + name, {}).status == 0;
}

}  // namespace gputopo
