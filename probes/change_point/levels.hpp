// All levels of one latency curve: first cache, second cache, memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "change_point/finding.hpp"

namespace gputopo::change_point {

/// A run of rows with one latency.
struct Level {
  double first_control = 0;
  double last_control = 0;
  double cycles = 0;  ///< mean over its rows of their trimmed means
  std::size_t rows = 0;
};

struct Levels {
  std::vector<Level> levels;  ///< in ascending order of control; at least one for a usable trace
  double penalty = 0;         ///< a change had to save this much of the squared error, cycles^2
  std::string reason;         ///< why there are none
};

/// PELT with L2 cost on the rows' means, each without its fastest and slowest 5 % of loads. Penalty: Schwarz's
/// criterion, 2 s^2 log T, with the noise s^2 from differences between neighbouring rows (their median square, which
/// the changes themselves can't move). Levels of fewer than `shortest` rows don't exist; neighbouring levels less than
/// a cycle or 1 % apart are one. A gradual rise (a cache that overflows row by row) comes out as a staircase: sizes are
/// find_size's business. Time grows with the loads, and with the square of the longest level's rows (see pelt).
Levels find_levels(const Trace& trace, const Options& options, std::size_t shortest = 3);

}  // namespace gputopo::change_point
