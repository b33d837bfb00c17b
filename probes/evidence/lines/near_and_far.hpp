// Near and far: two kinds of latencies, and SMs on every side of the chip.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/estimate.hpp"

namespace gputopo::evidence {

/// A split of latencies into a near and a far kind with a gap between: near ones below `threshold`.
struct TwoKinds {
  double threshold = 0, near = 0, far = 0;  ///< near and far are the kinds' means
  double share_between = 1;                 ///< of all, in the middle half between both means
};

/// Otsu's criterion (IEEE Trans. SMC 9, 1979): there are two kinds in anything; whether they are two is for the one who
/// knows how far apart they ought to be.
TwoKinds two_kinds(std::vector<double> latencies);

/// What near lines of a level take at most, where others may be on another side of it, of up to four (docs/domain.md):
/// half a level more than the nearest of them, by latencies without the clock.
double end_of_near_lines(std::vector<double> lines);

/// `near`, of near lines, where it isn't known whether others lie on another side: if none do it is that of all,
/// `mean`, so the interval reaches from the one to the other.
Estimate of_near_lines(Estimate near, const Estimate& mean);

/// Up to `most` SMs of `count`, on every side of the chip, whether sides take turns or halves of the numbers.
/// Ascending.
std::vector<std::uint32_t> spread_sms(std::uint32_t count, std::size_t most);

}  // namespace gputopo::evidence
