// The configuration that reaches most: every candidate once, the best ones again.
#pragma once

#include <vector>

#include "throughput/meter.hpp"
#include "throughput/registry.hpp"
#include "throughput/result.hpp"

namespace gputopo::throughput {

struct Best {
  program::Stream stream;
  Sample sample;  ///< with full effort its range goes up to what any candidate reached, in a short run or a long one
  std::size_t candidates = 0;  ///< that ran
  ByBytes by_bytes;            ///< the most that a single run of any reached
};

inline constexpr int runs_in_brief = 3;

/// Runs each candidate once (of memory over as much as no cache keeps) and the best `finalists` `runs_of_a_figure`
/// times each, longer where laps are short; the greatest median wins. Candidates that the device can't run are left
/// out. Nothing where none ran; then `why` says why the first one didn't. With brief effort it runs one candidate of
/// each kind (whose bytes, arrangement, one shot or laps), then those that differ from the fastest in one property,
/// from the fastest by then in the next (width; in flight; threads and blocks), and the fastest of all
/// `runs_in_brief` times again.
Expected<std::optional<Best>> search_best(Meter& meter, const std::vector<program::Stream>& candidates, Rate rate,
                                          std::string& why, Effort effort, std::size_t finalists = 5);

/// The same stream in `places` of memory, whose lines lie in other places of a cache beyond the SMs: the median of
/// their medians, which the next process will see as well, whatever memory it gets, and the range of all, up to what
/// `best` reached. Its own sample where there is no room for them. Errors: the meter's.
Expected<Sample> over_places(Meter& meter, const Best& best, Rate rate, int places);

/// One entry a width, grid and unrolling: copies of `base` that walk as much of each footprint as makes whole steps.
/// `footprints` are of an SM for Region::block, else of the grid; `width` from `least_width` to 16 bytes.
struct Grid {
  program::Stream base;
  std::vector<std::uint64_t> footprints;
  std::uint32_t least_width = 4;
  double bytes = 0;  ///< that a run moves at least; 0: one lap
  bool broadcast = false;
};
std::vector<program::Stream> candidates_of(const Grid& grid, std::uint32_t sm_count);

/// Copies in bulk of several sizes and numbers in flight, by one thread a block.
std::vector<program::Stream> bulk_copies(const program::Stream& base, std::uint64_t footprint_bytes,
                                         std::uint32_t sm_count);

inline constexpr std::uint32_t laps_of_one_shots = 3;
/// Grids in which every thread makes one access (write) or one load and store (copy), for what exceeds all caches; run
/// `laps` times in a row.
std::vector<program::Stream> one_shots(const program::Stream& base, std::uint64_t footprint_bytes,
                                       std::uint32_t laps = laps_of_one_shots);

}  // namespace gputopo::throughput
