// What every error of a reader is: one printable line, in the end.
#pragma once

#include <cstdlib>
#include <string>

#include "text/printable.hpp"

namespace gputopo::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// As the user gets to see it.
inline void require_one_line(const std::string& message) {
  const std::string shown = text::message(message);
  require(!shown.empty() && shown.size() < 1000 && shown.find('\n') == std::string::npos);
}

}  // namespace gputopo::fuzz
