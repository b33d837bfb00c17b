// Latency of a hit: the average of a lap of dependent loads, no clock inside (Größler 2022, section 4.4).
#pragma once

#include "experiments/samples.hpp"
#include "experiments/session.hpp"
#include "topology/estimate.hpp"

namespace gputopo::experiments {

struct HitLatency {
  Estimate estimate;           ///< cycles a dependent load, the address computation included
  double timed_cycles = 0;     ///< median of individually timed hits: latency and clock pair
  double timed_spread = 0;     ///< 99th percentile of the same, less the median
  double overhead_cycles = 0;  ///< what a clock around each load adds
};

/// Walks `footprint_bytes` with `stride_bytes`, warm, on several SMs. The fixed cost of a lap is removed by taking the
/// difference of a long and a short run.
Expected<HitLatency> measure_hit_latency(Session& session, const CachePath& path, std::uint64_t footprint_bytes,
                                         std::uint64_t stride_bytes);

/// A latency above which a load can't have been such a hit: three tenths as long again, clear of the hits' own spread.
double miss_threshold(const HitLatency& hit);

}  // namespace gputopo::experiments
