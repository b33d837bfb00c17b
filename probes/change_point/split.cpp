#include "change_point/split.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace gputopo::change_point {

std::vector<double> mid_ranks(std::span<const double> series) {
  std::vector<std::size_t> order(series.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return series[a] < series[b]; });
  std::vector<double> ranks(series.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && series[order[end]] == series[order[i]]) {
      ++end;
    }
    for (std::size_t k = i; k < end; ++k) {
      ranks[order[k]] = 0.5 * static_cast<double>(i + 1 + end);
    }
    i = end;
  }
  return ranks;
}

SegmentCost::SegmentCost(std::span<const double> series, Cost cost)
    : cost_(cost), sums_(series.size() + 1, 0), squares_(series.size() + 1, 0) {
  const std::vector<double> ranks = cost == Cost::rank ? mid_ranks(series) : std::vector<double>{};
  const std::span<const double> values = cost == Cost::rank ? std::span<const double>(ranks) : series;
  // Sums of values around the overall mean: the squares stay small and nothing cancels.
  center_ =
      values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i] - center_;
    sums_[i + 1] = sums_[i] + value;
    squares_[i + 1] = squares_[i] + value * value;
  }
}

double SegmentCost::operator()(std::size_t begin, std::size_t end) const {
  const double count = static_cast<double>(end - begin);
  const double sum = sums_[end] - sums_[begin];
  const double around_mean = std::max(0.0, squares_[end] - squares_[begin] - sum * sum / count);
  if (cost_ != Cost::normal) {
    return around_mean;
  }
  return count * (std::log(around_mean / count + variance_floor) + std::log(2 * std::numbers::pi) + 1);
}

std::optional<Split> best_split(const SegmentCost& cost) {
  const std::size_t size = cost.size();
  const std::size_t shortest = cost.shortest();
  if (size < 2 * shortest) {
    return std::nullopt;
  }
  Split best{0, 0, cost(0, size)};
  for (std::size_t i = shortest; i + shortest <= size; ++i) {
    const double both = cost(0, i) + cost(i, size);
    if (best.first_after == 0 || both < best.cost) {
      best.first_after = i;
      best.cost = both;
    }
  }
  return best;
}

}  // namespace gputopo::change_point
