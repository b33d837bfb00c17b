// What a load from memory gains where a row of DRAM is open from the load before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/estimate.hpp"
#include "topology/evidence.hpp"

namespace gputopo::evidence {

/// Lines that are looked at lie at multiples of so much from where rows may begin.
inline constexpr std::uint64_t row_places_bytes = 128;

/// Lines of one distance, each by what its load took less right after one so far away than after one much farther.
struct GainAt {
  std::uint64_t distance_bytes = 0;
  double cycles = 0;          ///< mean over the lines
  double error_cycles = 0;    ///< its standard error
  std::uint64_t samples = 0;  ///< loads
};

/// The mean of what the lines' loads took less, cycles.
GainAt gain_at(std::uint64_t distance_bytes, std::span<const double> gained_cycles);

/// What a load in the same row gains: read off the distances at which it shows, a lower bound where that is one alone.
/// Where it shows at none 0, in an interval up to what may have gone unseen at
/// any distance; inconclusive where that is more than levels of memory differ in, of a load of `latency_cycles`.
Estimate row_gain(std::span<const GainAt> gains, double latency_cycles);

/// Cycles gained over distance.
DecidingCurve curve_of(std::span<const GainAt> gains, std::string_view memory);

}  // namespace gputopo::evidence
