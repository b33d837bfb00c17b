#include "change_point/pelt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stop/stop.hpp"

namespace gputopo::change_point {

Segmentation pelt(const SegmentCost& cost, double penalty, std::size_t shortest) {
  const std::size_t size = cost.size();
  const std::size_t least = std::max(shortest, cost.shortest());
  Segmentation result;
  if (size == 0) {
    return result;
  }
  if (size < 2 * least) {
    result.cost = size >= cost.shortest() ? cost(0, size) : 0;
    return result;
  }
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::vector<double> best(size + 1, infinite);
  std::vector<std::size_t> previous(size + 1, 0);
  best[0] = -penalty;
  // Starts of the last segment that may still be optimal, with the end from which they no longer are.
  struct Start {
    std::size_t at;
    std::size_t useless_from;
  };
  std::vector<Start> starts;
  for (std::size_t end = least; end <= size; ++end) {
    stop::look();
    if (best[end - least] < infinite) {
      starts.push_back({end - least, size + 1});
    }
    for (const Start& start : starts) {
      const double total = best[start.at] + cost(start.at, end) + penalty;
      if (total < best[end]) {
        best[end] = total;
        previous[end] = start.at;
      }
    }
    // A start that is no better than beginning anew at `end` never wins again, once a segment from `end` can exist.
    for (Start& start : starts) {
      if (start.useless_from > size && best[start.at] + cost(start.at, end) >= best[end]) {
        start.useless_from = end + least;
      }
    }
    std::erase_if(starts, [end](const Start& start) { return start.useless_from <= end + 1; });
  }
  for (std::size_t end = size; end > 0; end = previous[end]) {
    result.cost += cost(previous[end], end);
    if (previous[end] > 0) {
      result.first_after.push_back(previous[end]);
    }
  }
  std::reverse(result.first_after.begin(), result.first_after.end());
  return result;
}

double bic_penalty(Cost cost, std::size_t size, double variance) {
  const double n = static_cast<double>(size);
  const double a_parameter = std::log(std::max(2.0, n));
  switch (cost) {
    case Cost::normal:
      return 3 * a_parameter;
    case Cost::rank:
      return 2 * a_parameter * (n * n - 1) / 12;
    case Cost::l2:
      break;
  }
  return 2 * a_parameter * variance;
}

}  // namespace gputopo::change_point
