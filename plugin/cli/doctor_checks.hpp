// What `doctor` looks at: everything around gputopo that decides what it can do on this machine.
#pragma once

#include <string>
#include <vector>

namespace gputopo::cli {

struct Check {
  enum class Result {
    good,
    limited,  ///< something works less well; `remedy` says what to do
    missing,  ///< a real GPU can't be measured until `remedy` is followed
  };
  Result result = Result::good;
  std::string subject;  ///< "NVIDIA driver"
  std::string finding;  ///< what was found, one line
  std::string remedy;   ///< empty where all is well
};

/// Looks at the driver, the GPUs, the rights, the profiling library, hwloc, likwid and the store. Opens each GPU.
std::vector<Check> run_checks();

}  // namespace gputopo::cli
