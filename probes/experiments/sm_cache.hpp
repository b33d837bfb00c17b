// Everything about one cache that each SM has to itself: L1 data, texture, read-only, constant L1.
#pragma once

#include "experiments/hit_latency.hpp"
#include "experiments/session.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

struct SmCache {
  Memory memory;
  HitLatency hit;
  double threshold_cycles = 0;       ///< a timed load at or above it missed
  std::uint64_t capacity_bytes = 0;  ///< 0 where unknown
  bool present = false;
};

/// Measures size, line, sector, latency and miss penalty.
Expected<SmCache> measure_sm_cache(Session& session, const CachePath& path);

/// Where what misses seems to be found no nearer than in the L2's far side: walks from every SM, since all that one
/// SM loaded may lie there, of what half of the L2 holds. `l2_near_cycles` and `l2_far_cycles` are those of a global
/// load past L1.
Expected<void> settle_miss_penalty(Session& session, const CachePath& path, SmCache& cache, double l2_near_cycles,
                                   double l2_far_cycles);

/// True where loads through `path` are no faster than loads that go past L1 (Größler 2022, section 4.2.1): the GPU
/// doesn't cache them.
Expected<bool> bypasses_l1(Session& session, const CachePath& path, const HitLatency& hit);

}  // namespace gputopo::experiments
