#include "cli/remarks.hpp"

#include <algorithm>
#include <utility>

#include "cli/output.hpp"

namespace gputopo::cli {

void Remarks::add(std::string line) {
  const std::lock_guard lock(mutex_);
  if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) lines_.push_back(std::move(line));
}

void Remarks::tell_all() {
  const std::lock_guard lock(mutex_);
  for (const std::string& line : lines_) tell(line);
}

}  // namespace gputopo::cli
