// What one load takes, by itself: no clock inside, no address arithmetic on its chain, no stranger in the average.
#pragma once

#include <span>

#include "evidence/histogram.hpp"
#include "evidence/session.hpp"
#include "topology/estimate.hpp"

namespace gputopo::evidence {

struct LoadLatency {
  Estimate estimate;           ///< cycles
  double overhead_cycles = 0;  ///< what a clock around each load adds to it
  Histogram timed;             ///< the same loads, each timed
};

/// A few lines again and again: laps of n and of 2n loads, which differ by n loads whatever a lap costs by itself.
/// Of laps so short enough have no stranger in them even where 5 % of all loads are strangers; the quartile of the laps
/// doesn't move. On five SMs.
Expected<LoadLatency> measure_load_latency(Session& session, const CachePath& path);

/// The same for shared memory, which no other path reaches.
Expected<Estimate> measure_shared_latency(Session& session);

/// The middle of `numbers` and its distribution-free 95 % interval (order statistics), widened by half a `quantum` of
/// the clock on either side.
Estimate median_estimate(std::vector<double> numbers, double quantum, std::string_view unit, std::string_view method);

/// The mean of `numbers` (lines, each by its own median) with the 95 % interval of a mean.
Estimate mean_estimate(std::span<const double> numbers, std::string_view unit, std::string_view method);

}  // namespace gputopo::evidence
