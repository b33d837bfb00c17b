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

/// True where loads through `path` are no faster than loads that go past L1 (Größler 2022, section 4.2.1): the GPU
/// doesn't cache them.
Expected<bool> bypasses_l1(Session& session, const CachePath& path, const HitLatency& hit);

}  // namespace gputopo::experiments
