// Line size: how many bytes one tag covers. Two regions of 0.6 of the capacity each, walked at stride X, the second
// shifted by X/2: together they need 1.2 times the capacity as long as X/2 lies within a line, and no more than 0.6
// from the first X on whose halves are lines of their own. Works for modulo and hashed sets and any replacement: random
// replacement misses 31 % of the loads at 1.2 times the capacity, and 0.6 leave room for sets that fill unevenly.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "experiments/session.hpp"
#include "topology/estimate.hpp"

namespace gputopo::experiments {

/// The share of loads that miss (0 to 1) in the shifted pattern, for each stride.
struct ShiftedMisses {
  std::uint64_t stride_bytes = 0;
  double miss_share = 0;
  std::uint64_t samples = 0;
};

/// The share of misses from which on a pattern thrashes; one that fits has almost none, the other far more.
inline constexpr double least_thrashing = 0.12;

/// One entry a stride, in order: of neighbours with one stride, the fewest misses. Where regions share lines, they
/// overflow wherever they lie; where they don't, only an unlucky place makes their sets collide.
std::vector<ShiftedMisses> fewest_misses(std::span<const ShiftedMisses> misses);

/// The stride that decides, if chance may have decided: of the first one that fits anywhere, where it thrashes
/// elsewhere and a place has fewer than 256 loads. Nothing where there is no doubt.
std::optional<std::uint64_t> doubtful_stride(std::span<const ShiftedMisses> misses);

/// The last stride that thrashes before the pattern fits. `sector_bytes` is the smallest line there can be.
Estimate line_size_of(std::span<const ShiftedMisses> misses, std::uint64_t sector_bytes);

/// Phases of the pattern: `laps` warm laps over both regions; the caller appends what it records over the first one.
/// `lanes` threads walk together. The second region begins `gap_bytes` (whole strides) behind the first.
std::vector<program::Phase> shifted_pattern(const CachePath& path, std::uint64_t capacity_bytes,
                                            std::uint64_t stride_bytes, std::uint64_t gap_bytes, std::uint32_t laps,
                                            std::uint32_t lanes);

/// The strides to try: from twice the sector on.
std::vector<std::uint64_t> line_size_strides(std::uint64_t sector_bytes, std::uint64_t capacity_bytes);

/// For a cache of about `capacity_bytes` (within a tenth) private to an SM.
Expected<Estimate> measure_line_size(Session& session, const CachePath& path, std::uint64_t capacity_bytes,
                                     std::uint64_t sector_bytes, double threshold_cycles);

}  // namespace gputopo::experiments
