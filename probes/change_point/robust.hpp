// Statistics that a few wild values can't move.
#pragma once

#include <span>
#include <vector>

#include "change_point/latency_histogram.hpp"

namespace gputopo::change_point {

/// The middle value, or the mean of the middle two. 0 for no values. Time
/// grows with the values.
double median(std::vector<double> values);

/// The mean of the shortest half (the "shorth": Andrews et al., Robust Estimates of Location, 1972): the centre of the
/// values that more than half of all are, wherever the others lie. Of several equally short halves the middle one. 0
/// for no values.
double shorth(std::vector<double> values);

/// The mean of values that are chi-squared of one degree but for a tenth of them, which are larger: without the largest
/// tenth, over what that leaves of such values. A median would be 0 where most are, as between rows of two states. 0
/// for no values.
double mean_of_most(std::vector<double> values);

/// The smallest bin value that at least `share` of all counts don't exceed. 0 for no bins.
double quantile(std::span<const Bin> bins, double share);

}  // namespace gputopo::change_point
