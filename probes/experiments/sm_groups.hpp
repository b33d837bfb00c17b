// Which SMs share the cache behind the constant L1? Code of one SM evicts constants of every SM it shares it with.
#pragma once

#include <vector>

#include "experiments/session.hpp"
#include "experiments/sm_cache.hpp"

namespace gputopo::experiments {

struct SmGroups {
  std::vector<std::vector<std::uint32_t>> groups;  ///< a partition of all SMs; empty where it can't be told
  std::uint64_t samples = 0;                       ///< loads the partition rests on
  std::string problem;                             ///< why it can't be told
};

/// Every SM loads a few lines of constants, each its own; one SM runs through a long stretch of code; every SM looks
/// whether its lines are still near. Those that aren't lie in the running SM's cache. Repeated with other lines, and
/// for an SM of every group not known yet. `threshold_cycles` tells a load that went past the cache.
Expected<SmGroups> measure_sm_groups(Session& session, const SmCache& l1, std::uint64_t line_bytes,
                                     double threshold_cycles);

}  // namespace gputopo::experiments
