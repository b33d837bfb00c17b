// One latency from many loads.
#pragma once

#include "change_point/finding.hpp"

namespace gputopo::change_point {

/// The median over all values of all rows (controls don't matter), cycles: slow loads of another level, below half,
/// don't move it. `low` and `high`: the distribution-free 95 % interval from order statistics (Conover, Practical
/// Nonparametric Statistics, 1999, section 3.2). `confidence`: the probability mass of the level that holds the median,
/// by a mixture; where it is below one half the loads come from several levels and the finding is inconclusive, with
/// the median as `value`. Time n log n in the loads.
Finding find_latency(const Trace& trace, const Options& options);

}  // namespace gputopo::change_point
