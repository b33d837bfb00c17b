// What looks at a cache's lines come to: a count of what each footprint had held, and of all footprints a capacity
// (held.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evidence/held/held_looks.hpp"
#include "evidence/looks/findings.hpp"

namespace gputopo::evidence::held {

/// Of a footprint of `lines`: how many were found near, and how far off that may be.
struct Counted {
  double lines = 0, near = 0, error = 0;
  double scatter = 0;   ///< the part of the error that more looks make smaller
  double faked = 0;     ///< the part that is the same of every count: misses that look like hits
  double in_front = 0;  ///< of those near, may be in the cache in front alone
  double hidden = 0;    ///< may be near besides
  bool exact = false;   ///< every line was there always or never, but for strangers
  std::uint64_t samples = 0;
};

/// Of lines found at each look, by stretch of the plan.
Counted judge(const std::vector<std::vector<double>>& hits_by_stretch, const CacheFacts& cache, const Plan& plan);

/// Takes off what looks found sooner than misses, and later than hits or sooner than these, in all `looks` that lines
/// were looked for.
void take_off_short_misses(Counted& counted, const CacheFacts& cache, const Histogram& seen, std::uint32_t looks);

/// Where looks at one line differ: as many as make the count's scatter as small as what tells sizes apart, if there is
/// time. Two counts together are 0.7 lines off then, or 1.4 %.
std::uint32_t looks_for(const Plan& plan, const Counted& few);

struct Capacity {
  double lines = 0, error = 0;
  double most = 0;  ///< the interval's upper end
  bool steady = false;
  bool exact = false;
  bool agreed = false;  ///< counts differ by no more than they may by chance
};

/// Of ever larger footprints; a cache's sets are full when more doesn't hold more.
Capacity when_full(std::span<const Counted> counts);

/// Not exact ones are as far off as hits that look like misses are unknown, and may be by `more_lines` that were walked
/// or are hidden.
void widen_by_unsure(Capacity& capacity, const Levels& levels, double more_lines);

/// The same to three of the four standard errors.
Capacity likely(Capacity capacity);

/// What lies within its error, or the whole lines around it: from a whole line on, without those of a cache in front, up
/// to any part of one.
Interval interval_of(const Capacity& capacity, double in_front, double line_bytes);

}  // namespace gputopo::evidence::held
