// Near and far: two kinds of latencies, and SMs on every side of the chip.
#pragma once

#include <cstdint>
#include <vector>

namespace gputopo::evidence {

/// A split of latencies into a near and a far kind with a gap between: near ones below `threshold`.
struct TwoKinds {
  double threshold = 0, near = 0, far = 0;  ///< near and far are the kinds' means
  double share_between = 1;                 ///< of all, in the middle half between both means
};

/// Otsu's criterion (IEEE Trans. SMC 9, 1979): there are two kinds in anything; whether they are two is for the one who
/// knows how far apart they ought to be.
TwoKinds two_kinds(std::vector<double> latencies);

/// Up to `most` SMs of `count`, on every side of the chip, whether sides take turns or halves of the numbers.
/// Ascending.
std::vector<std::uint32_t> spread_sms(std::uint32_t count, std::size_t most);

}  // namespace gputopo::evidence
