// Footprints in the L2: too large to time every load, so all lanes warm and one thread samples.
#pragma once

#include <vector>

#include "change_point/finding.hpp"
#include "experiments/samples.hpp"
#include "experiments/session.hpp"

namespace gputopo::experiments {

inline constexpr CachePath l2_path{"l2", "L2 cache", program::Path::global_l2_only, slot_flush};

struct L2Row {
  std::uint64_t bytes = 0;
  Histogram timed;  ///< of a sample spread over the footprint, after warm laps
};

inline constexpr std::uint64_t small_l2_bytes = 8 << 20;  ///< what a walk goes through in no time
inline constexpr std::uint64_t most_sampled_loads = 2048;
inline constexpr std::uint32_t few_laps = 2;  ///< fill a cache that replaces the oldest line first

/// One row a footprint, in order, each after `warm_laps` laps by all lanes; at most `sampled_loads` of it are timed,
/// others for each `sample`.
Expected<std::vector<L2Row>> l2_curve(Session& session, const std::vector<std::uint64_t>& footprints_bytes,
                                      std::uint64_t stride_bytes, std::uint32_t warm_laps = few_laps,
                                      std::uint64_t sampled_loads = most_sampled_loads, std::uint64_t sample = 0);

/// One footprint as several SMs see it, a row each.
Expected<std::vector<L2Row>> l2_rows_from(Session& session, const std::vector<std::uint32_t>& sms, std::uint64_t bytes,
                                          std::uint64_t stride_bytes);

/// The same for counting what stays in a cache of about `capacity_bytes`: each timed miss brings a line in, so as many
/// rounds of few loads, of another sample each, as it takes.
Expected<std::vector<L2Row>> l2_curve_gently(Session& session, const std::vector<std::uint64_t>& footprints_bytes,
                                             std::uint64_t stride_bytes, std::uint32_t warm_laps,
                                             std::uint64_t capacity_bytes);

/// Powers of two between which a level overflows, and the warm laps that it took to tell.
struct L2Bracket {
  std::uint64_t fits_bytes = 0;
  std::uint64_t overflows_bytes = 0;  ///< 0 where the largest footprint tried still fits
  std::uint32_t warm_laps = few_laps;
};

/// Doubles the footprint until more than 2 % of its loads take `threshold_cycles`. A cache that replaces lines at
/// random throws out some of what has just come in, and fills up over many laps: as long as more laps leave much fewer
/// misses, the footprint counts as one that fits.
Expected<L2Bracket> bracket_l2(Session& session, double threshold_cycles, std::uint64_t stride_bytes,
                               std::uint64_t first_bytes);

/// A trace for the change-point engine in which loads within [low, high) cycles count as misses, `weight` times each
/// where they stand for loads that can't be told apart, and all others as hits.
change_point::Trace classified(const std::vector<L2Row>& rows, double low_cycles, double high_cycles,
                               std::uint64_t weight = 1);

/// The share of a row's loads within [low, high) cycles.
double share_between(const L2Row& row, double low_cycles, double high_cycles);

/// Footprints evenly spaced from `low` to `high`, whole multiples of 4 KiB.
std::vector<std::uint64_t> spaced(std::uint64_t low_bytes, std::uint64_t high_bytes, std::size_t count);

}  // namespace gputopo::experiments
