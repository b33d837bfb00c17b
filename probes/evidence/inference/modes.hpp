// Latency levels in one histogram: near and far hits, near and far memory.
#pragma once

#include <span>
#include <vector>

#include "evidence/inference/histogram.hpp"
#include "topology/estimate.hpp"

namespace gputopo::evidence {

/// A clock that counts whole cycles may be off by so much, alike for all that it times.
inline constexpr double half_a_tick = 0.5;

/// One level of latency, in cycles.
struct Mode {
  double median = 0;
  double low_quartile = 0;
  double high_quartile = 0;
  double share = 0;   ///< of all loads of the histogram
  double centre = 0;  ///< mean without outliers: finer than the median, which is a whole number of cycles
  double error = 0;   ///< half-width of its 95 % interval, with half a tick
};

/// Peaks of the smoothed histogram (Gaussian kernel, 1.5 % of the median wide) that a valley of less than half the
/// smaller peak separates and that hold a share of `least_share` each. Ascending.
std::vector<Mode> modes_of(std::span<const program::LatencyCount> histogram, double least_share = 0.05);

/// What a load served at level `next` takes longer than a hit of `hit_cycles` (as timed, the clock included). The
/// interval is that of the level's mean, 95 %.
Estimate penalty_of(const Mode& next, double hit_cycles, std::uint64_t samples);

/// All of a histogram as one level; a zero Mode for an empty histogram.
Mode whole_mode(std::span<const program::LatencyCount> histogram);

/// Of a level without any spread its loads lie no further apart, whatever the jitter (docs/domain.md).
inline constexpr double least_fence_cycles = 12;
/// Where a level ends: three inter-quartile ranges above its upper quartile (Tukey's outer fence), at least 12 cycles.
double upper_fence(std::span<const program::LatencyCount> histogram);

/// The fastest level, of more loads than outliers make in a short walk, and surely than `strangers`, faster levels'
/// loads that are expected among these; a zero Mode for an empty histogram.
Mode lowest_mode(std::span<const program::LatencyCount> histogram, double strangers = 0);

}  // namespace gputopo::evidence
