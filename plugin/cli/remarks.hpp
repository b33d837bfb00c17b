// What a command has to say besides its result.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace gputopo::cli {

/// Lines for stderr that only make sense beside a result: they are kept until it is written, and forgotten where the
/// command fails instead, which says one line, its error. Threads may add at once.
class Remarks {
 public:
  /// A line that is there already isn't said twice: a file may be named twice.
  void add(std::string line);
  /// All of them, in order, as tell() does.
  void tell_all();

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace gputopo::cli
