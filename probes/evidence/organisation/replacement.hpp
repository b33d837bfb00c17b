// Which line a full set gives up: from the order in which one set's lines are lost and found again.
#pragma once

#include <string>

#include "evidence/organisation/collisions.hpp"

namespace gputopo::evidence {

struct Replacement {
  std::string policy;  ///< "lru", "fifo", "tree", "random", "not_most_recent", "none" (one way); empty where undecided
  std::string excluded;  ///< what it can't be and how that shows, one clause; or why nothing is known
  std::uint64_t samples = 0;
};

/// Of a set of `ways` ways that a circle of `seen.fits` + 1 lines overflows. First whether its lines are lost in each
/// round: then the circle is walked by other steps, in which a line's use counts under LRU, its age under FIFO. Where
/// they aren't, whether losses repeat (a tree of bits) or not, and how far the next one lies from the last.
Expected<Replacement> find_replacement(Circles& circles, const Collisions& seen, std::uint64_t ways);

}  // namespace gputopo::evidence
