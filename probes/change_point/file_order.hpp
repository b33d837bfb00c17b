// Do loads depend on when they were made? Order statistics hold for loads that are independent.
#pragma once

#include <span>

namespace gputopo::change_point {

/// Where a median may lie, both ends included, in the values' unit.
struct MedianRange {
  double low = 0;
  double high = 0;
};

/// The distribution-free interval of 95 % of the median of independent values (Conover, Practical Nonparametric
/// Statistics, 1999, section 3.2), in the values' unit; of fewer than six values from the least to the greatest.
/// `sorted` ascends and isn't empty.
MedianRange median_interval(std::span<const double> sorted);

/// The probability that independent values differ as much between stretches of the file: Kruskal & Wallis, JASA 47,
/// 1952, with ties, between 2, 4, 8, ... stretches of equal length (at least four values), the smallest p-value times
/// the number of tests. Trends, steps and slow oscillations all make stretches differ; what repeats within a stretch
/// doesn't. 1 for fewer than eight values. Time n log n.
double same_all_along(std::span<const double> values);

/// What the median may have been at any time of the file: from the least to the greatest end of the medians' intervals
/// of sqrt(n) stretches, in the values' unit. `values` are in file order and not empty. Time n log n.
MedianRange medians_along(std::span<const double> values);

}  // namespace gputopo::change_point
