// A one-dimensional Gaussian mixture over binned latencies: which levels do the loads come from?
//
// Expectation-maximisation (Dempster, Laird & Rubin, JRSS B 39, 1977), components added one at a time by the best hard
// split of an existing one and kept while the Bayesian information criterion (Schwarz, Ann. Stat. 6, 1978) improves.
// Deterministic: no random starts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "change_point/latency_histogram.hpp"

namespace gputopo::change_point {

/// One level of latency. Mean and standard deviation in cycles, weight a share of all loads.
struct Component {
  double weight = 0;
  double mean = 0;
  double deviation = 0;
};

/// Components in ascending order of mean, at least one unless `bins` is empty. The deviation never falls below half a
/// cycle or 0.2 % of the mean, so that a level without any spread (a clock that counts whole cycles) stays one level.
/// Time grows with the bins, and with the square of `max_components`.
std::vector<Component> fit_mixture(std::span<const Bin> bins, std::size_t max_components);

/// A latency that separates what lies below from what lies above.
struct Boundary {
  double threshold_cycles = 0;  ///< a load that takes this long or longer belongs to the upper side
  double lower_mean = 0;        ///< mean of all loads on the lower side, cycles
  double upper_mean = 0;
  double lower_deviation = 0;   ///< standard deviation of the loads on the lower side, cycles
  double upper_share = 0;       ///< share of all loads on the upper side
  double step = 0;              ///< distance between the means of the two components next to it, cycles
  double between_variance = 0;  ///< Otsu's criterion: variance explained by the two sides, cycles^2
  double middle = 0;            ///< of the gap between the loads on either side
  double near = 0;              ///< an eighth of what the levels are apart, cycles
};

/// That below `bins[first_upper]`, of levels that are `step` cycles apart. Needs bins on either side.
Boundary boundary_at(std::span<const Bin> bins, std::size_t first_upper, double step);

/// The boundaries between neighbouring components: where the upper ones become more likely than the lower ones.
std::vector<Boundary> boundaries_of(std::span<const Component> components, std::span<const Bin> bins);

}  // namespace gputopo::change_point
