// What one load takes, by itself: no clock inside, no address arithmetic on its chain, no stranger in the average.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "evidence/inference/histogram.hpp"
#include "evidence/looks/session.hpp"
#include "topology/estimate.hpp"

namespace gputopo::evidence {

struct LoadLatency {
  Estimate estimate;           ///< cycles; inconclusive where too many loads were slow to tell
  double cycles = 0;           ///< by laps, whatever made their loads slow, of lines that may be near and far
  double overhead_cycles = 0;  ///< what a load's own clock adds to its lower quartile: of mere jitter less than 0
  double quartile_cycles = 0;  ///< by which the lower quartile of these loads lies above the middle of them
  Histogram timed;             ///< the same loads, each timed
};

/// A few lines again and again: laps of n and of 2n loads, which differ by n loads whatever a lap costs by itself.
/// Of laps so short enough have no stranger in them even where 5 % of all loads are strangers; the quartile of the laps
/// doesn't move. Where more loads are slow than that, beside another program, it is what single loads take by their
/// lower quartile, less what the clocks around these add: the difference of both means, in which slow loads cancel. On
/// seven SMs.
Expected<LoadLatency> measure_load_latency(Session& session, const CachePath& path);

/// The same for shared memory, which no other path reaches.
Expected<Estimate> measure_shared_latency(Session& session);

/// Latencies as timed, by line: what several looks at each took.
using LooksByLine = std::vector<std::vector<std::uint32_t>>;

/// The mean of the middle half of looks: strangers don't move it, nor do loads that alternate between few latencies.
double middle_half(std::vector<double> looks);

/// All looks at all lines.
Histogram histogram_of(const LooksByLine& looks);

/// Looks that tell what a line's load takes when nothing makes it wait. Strangers and others' traffic only make loads
/// slower: where two loads in five wait, the third of nine looks in their order is one of those one time in forty.
inline constexpr std::size_t looks_at_a_line = 9;

/// Loads or laps are undisturbed as far as their lower quartile: where 5 % of all loads are strangers, 44 % of the laps
/// of 16 loads have none.
inline constexpr double undisturbed_share = 0.25;

/// Where the lower quartile of `looks` lies in their order, from 0.
std::size_t lower_quartile_rank(std::size_t looks);
/// Looks that have one.
inline constexpr std::size_t fewest_looks = 3;

/// The lower quartile of each line's looks; lines with fewer than three are left out.
std::vector<double> undisturbed_by_line(LooksByLine looks);
/// The lower quartile of all loads, cycles; nothing for an empty histogram.
std::optional<double> undisturbed(std::span<const program::LatencyCount> histogram);

/// A latency as timed less what the clock around a load adds.
Estimate without_clock(Estimate timed, double overhead_cycles);

/// The middle of `numbers` and its distribution-free 95 % interval (order statistics), widened by half a `quantum` of
/// the clock on either side.
Estimate median_estimate(std::vector<double> numbers, double quantum, std::string_view unit, std::string_view method);

/// The mean of `numbers` (lines, each by its own median) with the 95 % interval of a mean, whose error is so many
/// `times` what these differ by says.
Estimate mean_estimate(std::span<const double> numbers, std::string_view unit, std::string_view method,
                       double times = 1);

}  // namespace gputopo::evidence
