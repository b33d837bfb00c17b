// Lines of a cache by number, ascending.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace gputopo::evidence {

using LineNumbers = std::vector<std::uint64_t>;

/// Those of `a` that aren't in `b`.
inline LineNumbers without_lines(const LineNumbers& a, const LineNumbers& b) {
  LineNumbers rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace gputopo::evidence
