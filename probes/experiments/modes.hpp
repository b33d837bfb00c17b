// Latency levels in one histogram: near and far hits, near and far memory.
#pragma once

#include <span>
#include <vector>

#include "experiments/samples.hpp"
#include "topology/estimate.hpp"

namespace gputopo::experiments {

/// One level of latency, in cycles.
struct Mode {
  double median = 0;
  double low_quartile = 0;
  double high_quartile = 0;
  double share = 0;   ///< of all loads of the histogram
  double centre = 0;  ///< mean without outliers: finer than the median, which is a whole number of cycles
};

/// Peaks of the smoothed histogram (Gaussian kernel, 1.5 % of the median wide) that a valley of less than half the
/// smaller peak separates and that hold a share of `least_share` each. Ascending.
std::vector<Mode> modes_of(std::span<const program::LatencyCount> histogram, double least_share = 0.05);

/// What a load served at level `next` takes longer than a hit of `hit_cycles` (as timed, the clock included). The
/// interval reaches over the level's middle half.
Estimate penalty_of(const Mode& next, double hit_cycles, std::uint64_t samples);

/// The fastest level, of more loads than outliers make in a short walk; a zero Mode for an empty histogram.
Mode lowest_mode(std::span<const program::LatencyCount> histogram);

}  // namespace gputopo::experiments
