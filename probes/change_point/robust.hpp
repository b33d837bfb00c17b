// Statistics that a few wild values can't move.
#pragma once

#include <span>
#include <vector>

#include "change_point/latency_histogram.hpp"

namespace gputopo::change_point {

/// The middle value, or the mean of the middle two. 0 for no values. Time
/// grows with the values.
double median(std::vector<double> values);

/// The smallest bin value that at least `share` of all counts don't exceed. 0 for no bins.
double quantile(std::span<const Bin> bins, double share);

}  // namespace gputopo::change_point
