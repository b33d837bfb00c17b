// Where a command reads and writes, looked at before it does either: no output may meet another, or a file that is
// read.
#pragma once

#include <string>
#include <vector>

#include "error/error.hpp"

namespace gputopo::cli {

struct Output {
  std::string what;    ///< "the recording"
  std::string option;  ///< that names its place: "--record"
  std::string path;    ///< empty or "-": stdout
};

/// The output of -o.
Output result_output(const std::string& path);

/// Whether each output can be written, leads to a place of its own, and to none of `inputs`, files that the command
/// reads ("-": standard input): they would be lost. Pipes and files that are open already count by what they lead to,
/// so that /dev/stdout is stdout. Errors: `io`, `bad_input`.
Expected<void> check_places(const std::vector<Output>& outputs, const std::vector<std::string>& inputs = {});

/// The same for one that is known to be writable, or needn't be: whether it meets one of the outputs.
Expected<void> check_apart(const std::vector<Output>& outputs, const Output& other);

}  // namespace gputopo::cli
