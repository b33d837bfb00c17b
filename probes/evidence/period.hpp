// Which spacing? How many bytes one miss brings in, from a cold walk; how many bytes a tag covers, from the shifted
// pattern. Both give a posterior over powers of two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evidence/counts.hpp"
#include "evidence/sameness.hpp"
#include "topology/evidence.hpp"

namespace gputopo::evidence {

/// Of loads in ascending order, one every `stride_bytes` from an aligned address, which missed. Under the period P the
/// load at every multiple of P misses and no other; either is counted wrongly with the contamination's shares. The
/// rival is a miss rate without any pattern: where that explains as much the answer is `inconclusive`.
Estimate period_of(std::span<const bool> missed, std::uint64_t stride_bytes, const Contamination& contamination,
                   std::string_view method);

/// The same loads by their place in stretches of a few periods: the share of stretches in which each missed.
DecidingCurve period_curve(std::span<const bool> missed, std::uint64_t stride_bytes, const Estimate& period,
                           std::string_view memory);

/// One place of the shifted pattern, or of a control: stride X, and what its loads did.
struct PatternWalk {
  enum class Kind {
    shifted,   ///< two regions of 0.6 of the capacity, the second half a stride further
    straight,  ///< the same without the shift: overflows where X is a line or less
    fits,      ///< the same, half as much of the capacity
  };
  std::uint64_t stride_bytes = 0;
  std::uint64_t gap_strides = 0;  ///< between both regions
  Kind kind = Kind::shifted;
  Tally seen;  ///< no loads where there was no room for it
};

/// The line: patterns of strides up to it miss as much as those without the shift at the same place, and those without
/// a gap as much as the ones of shorter strides, since all of them walk the same lines; patterns of longer strides fit,
/// but where a place happens to put both halves into the same sets. `least_bytes` is the shortest line there can be.
Estimate line_of(std::span<const PatternWalk> walks, std::uint64_t least_bytes, std::string_view method);

}  // namespace gputopo::evidence
