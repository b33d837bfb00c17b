// The gputopo command in a process of its own, watched.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gputopo::hostile {

struct Outcome {
  int exit_code = -1;  ///< 128 + signal where one ended it
  std::string out;
  std::string err;
  double cpu_seconds = 0;
  double peak_mib = 0;
};

/// Runs the command line (without the program's name) with `variables` ("NAME=value") set. A process that takes far too
/// long is killed.
Outcome run(const std::vector<std::string>& arguments, const std::vector<std::string>& variables = {});

/// Calls `work` in a process of its own, whose exit status it gives.
Outcome run_apart(const std::function<int()>& work, const std::vector<std::string>& variables);

/// What must hold of any run on any input; empty, or what doesn't: how it ends, its time and its memory; that and what
/// it prints.
std::string objection_to_cost(const Outcome& outcome);
std::string objection_to(const Outcome& outcome);

}  // namespace gputopo::hostile
