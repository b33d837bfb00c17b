// How many instances of a cache does an SM have, and which warps use which? (Größler 2022, section 4.6.)
#pragma once

#include <vector>

#include "experiments/session.hpp"
#include "experiments/sm_cache.hpp"

namespace gputopo::experiments {

struct Instances {
  std::uint32_t count = 1;
  std::vector<std::uint32_t> of_warp;  ///< instance used by each warp, numbered by first use
  std::uint64_t samples = 0;           ///< loads looked at
  std::vector<double> disturbance;     ///< share of warp 0's lines that warp w pushed out; 0 for warp 0 itself
};

/// One warp fills two thirds of the cache, another walks as much elsewhere, the first looks again: only warps on one
/// instance push each other's lines out. Every warp is tried against one representative of each instance known so far.
Expected<Instances> measure_instances(Session& session, const CachePath& path, const SmCache& cache);

}  // namespace gputopo::experiments
