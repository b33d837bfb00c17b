// Which lines of a cache collide: circles grow line by line, and what a longer one loses that a shorter one didn't is
// the set that its last line overflowed (Mei and Chu 2017, stage 2; here for any index and any replacement).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evidence/organisation/circles.hpp"

namespace gputopo::evidence {

/// A circle and the lines that it lost, absolute numbers, ascending.
struct Window {
  Circle circle;
  std::vector<std::uint64_t> lost;
};

struct Collisions {
  std::uint64_t address = 0;     ///< virtual, of the first line; 0 where that isn't known
  std::uint64_t fits = 0;        ///< lines of the largest circle from the buffer's begin on that loses none
  bool always = false;           ///< lines of an overfull set are lost each time that they come round
  bool complete = false;         ///< every set that the circle's lines fall into was seen to overflow
  std::uint64_t held_lines = 0;  ///< of all sets together, where complete
  std::vector<std::vector<std::uint64_t>> sets;  ///< of each set seen: a line more than it has ways
  std::vector<Window> windows;                   ///< everything that was looked at
  std::optional<Losses> first_overflow;          ///< of the circle a line longer than fits: one set overflows
  std::uint64_t samples = 0;                     ///< loads
  std::string why_open;                          ///< empty where the sets are known
};

/// For a cache that holds `capacity_lines`. Errors are the session's.
Expected<Collisions> find_collisions(Circles& circles, std::uint64_t capacity_lines);

}  // namespace gputopo::evidence
