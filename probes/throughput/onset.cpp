#include "throughput/onset.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "change_point/robust.hpp"

namespace gputopo::throughput {
namespace {

// How unlikely the costs are where they rise from `onset` on, which lies behind point `at`: a negative log-likelihood.
double unlikely_from(const std::vector<Cost>& costs, std::size_t at, double onset, double scatter) {
  std::vector<double> slopes;  // one that is far off weighs by how far
  for (std::size_t i = at + 1; i < costs.size(); ++i)
    slopes.insert(slopes.end(), std::max<std::size_t>(1, static_cast<std::size_t>(costs[i].x - costs[at].x)),
                  (costs[i].cost - 1) / (costs[i].x - onset));
  const double slope = std::max(0.0, change_point::median(slopes));
  double sum = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double off = (costs[i].cost - 1 - (i > at ? slope * (costs[i].x - onset) : 0)) / scatter;
    sum += std::log1p(off * off);
  }
  return sum;
}

}  // namespace

std::optional<Onset> find_onset(const std::vector<Cost>& costs, double scatter, int places) {
  constexpr double noticeable = 1.02;
  if (costs.size() < 3 || costs.back().cost < noticeable) return std::nullopt;
  std::vector<double> unlikely;
  for (std::size_t at = 0; at + 1 < costs.size(); ++at) {
    unlikely.push_back(std::numeric_limits<double>::infinity());
    for (int k = 0; k < places; ++k) {
      const double onset = costs[at].x + (costs[at + 1].x - costs[at].x) * k / places;
      unlikely.back() = std::min(unlikely.back(), unlikely_from(costs, at, onset, scatter));
    }
  }
  const auto best = static_cast<std::size_t>(std::min_element(unlikely.begin(), unlikely.end()) - unlikely.begin());
  Onset found{best, best, best};
  const double as_good = unlikely[best] + 1.92;  // 95 % of a likelihood ratio's distribution
  while (found.low > 0 && unlikely[found.low - 1] <= as_good) --found.low;
  while (found.high + 1 < unlikely.size() && unlikely[found.high + 1] <= as_good) ++found.high;
  return found;
}

}  // namespace gputopo::throughput
