// A test for a split that was chosen by looking.
#pragma once

#include <cstdint>
#include <span>

#include "change_point/split.hpp"

namespace gputopo::change_point {

struct SplitTest {
  Split split;
  double ks = 0;                  ///< D between the two sides
  double naive_p_value = 1;       ///< as if the split had been fixed in advance: too small
  double calibrated_p_value = 1;  ///< by permutation: the whole procedure, split included, repeated on shuffled series
};

/// Splits the series at least cost and tests both sides for the same distribution by Kolmogorov-Smirnov. The statistic
/// that permutations are compared on is D sqrt(m n / (m + n)). A series of fewer than two segments gives p-values of 1.
/// Time: (permutations + 1) n log n.
SplitTest test_best_split(std::span<const double> series, Cost cost, std::uint64_t seed, int permutations = 199);

}  // namespace gputopo::change_point
