// How much longer loads of one kind take than those of another, whatever spreads both.
#pragma once

#include "evidence/inference/histogram.hpp"
#include "topology/estimate.hpp"

namespace gputopo::evidence {

/// Where what `slow` takes more than `fast` lies, cycles: `deviations` standard deviations to either side of the median
/// of all differences between a load of each (Hodges and Lehmann, Ann. Math. Stat. 34, 1963). Distance spreads both
/// kinds alike, and a stranger moves no median. Without end where either is empty or too few are there.
Interval shift_between(const Histogram& fast, const Histogram& slow, double deviations);

}  // namespace gputopo::evidence
