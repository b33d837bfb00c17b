#include "throughput/onset.hpp"

#include <algorithm>
#include <cmath>

#include "change_point/robust.hpp"

namespace gputopo::throughput {

std::optional<Onset> find_onset(const std::vector<Cost>& costs, double scatter) {
  constexpr double noticeable = 1.02;
  if (costs.size() < 3 || costs.back().cost < noticeable) return std::nullopt;
  std::vector<double> unlikely;  // negative log-likelihoods
  for (std::size_t at = 0; at + 1 < costs.size(); ++at) {
    const auto beyond = [&](std::size_t i) { return costs[i].x - costs[at].x; };
    std::vector<double> slopes;  // one that is far off weighs by how far
    for (std::size_t i = at + 1; i < costs.size(); ++i)
      slopes.insert(slopes.end(), std::max<std::size_t>(1, static_cast<std::size_t>(beyond(i))),
                    (costs[i].cost - 1) / beyond(i));
    const double slope = std::max(0.0, change_point::median(slopes));
    unlikely.push_back(0);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const double off = (costs[i].cost - 1 - (i > at ? slope * beyond(i) : 0)) / scatter;
      unlikely.back() += std::log1p(off * off);
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
