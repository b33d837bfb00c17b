// Sets of a cache with too many lines to time each of many circles. One circle a little larger than what fits without
// loss gives some hundred lines that collide; what of these is lost no longer once a line is left out is that line's
// set. All of it is walked round and round until what fits has settled, so it holds for any replacement and any index.
// (Finding eviction sets by leaving lines out: Vila, Köpf and Morales, "Theory and Practice of Finding Eviction Sets",
// 2019.)
#pragma once

#include <string>
#include <vector>

#include "evidence/organisation/evictions.hpp"

namespace gputopo::evidence {

/// Lines of one set, a line more than it has ways; which they are was checked: all together push one another out, and
/// without any one of them none goes.
struct EvictionSet {
  std::vector<std::uint64_t> lines;      ///< ascending
  double all_lose = 0;                   ///< misses a round of all of them
  std::vector<double> lose_without_one;  ///< in the lines' order
};

struct EvictionSets {
  std::vector<EvictionSet> sets;
  Rounds rounds;  ///< that showed them
  std::uint64_t samples = 0;
  std::string why_open;  ///< where there is none
};

/// Up to `count` sets. Errors are the session's.
Expected<EvictionSets> find_eviction_sets(Session& session, const EvictedCache& cache, std::size_t count);

}  // namespace gputopo::evidence
