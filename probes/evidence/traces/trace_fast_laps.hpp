// Rows of averages, of a lap each, among which interruptions are no misses.
#pragma once

#include <optional>

#include "change_point/trace.hpp"
#include "topology/estimate.hpp"

namespace gputopo::evidence {

/// What is said instead of `size`, a size of a trace whose values are averages, 4 to 64 of each row, where laps behind
/// it are as fast as those of what fits: of a lap of more than fits the pigeonhole leaves none without misses, and what
/// slowed the others was something else. The size by the fastest lap of each row, or `inconclusive` where these don't
/// tell one. The same where `size` is an upper bound: all laps of the first row go to the same lines. Nothing where all
/// laps behind it are slower, where values are single loads (whole ticks of a clock), and where `size` is neither. The
/// trace is tidy and usable.
std::optional<Estimate> size_by_fast_laps(const change_point::Trace& trace, const Estimate& size);

}  // namespace gputopo::evidence
