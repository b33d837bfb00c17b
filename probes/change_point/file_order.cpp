#include "change_point/file_order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <boost/math/distributions/chi_squared.hpp>

namespace gputopo::change_point {
namespace {

constexpr std::size_t shortest_stretch = 4;

std::size_t start_of(std::size_t stretch, std::size_t stretches, std::size_t values) {
  return stretch * values / stretches;
}

// Of the ranks about their mean; equal values share the middle one.
struct RankSums {
  std::vector<double> of_stretches;
  double squares = 0;
};

// Values between two of as many quantiles share a rank, as equal ones do: a search in all of 8 million values would
// miss the cache at every step.
constexpr std::size_t most_ranks = 1024;

RankSums rank_sums(std::span<const double> values, std::size_t stretches) {
  const std::size_t n = values.size();
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> edges;  // each the least value of a rank
  for (std::size_t i = 0; i < std::min(n, most_ranks); ++i) {
    const double edge = sorted[start_of(i, std::min(n, most_ranks), n)];
    if (edges.empty() || edge > edges.back()) edges.push_back(edge);
  }
  std::vector<double> ranks;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), edges[i]);
    const auto end = i + 1 < edges.size() ? std::lower_bound(first, sorted.end(), edges[i + 1]) : sorted.end();
    ranks.push_back(
        0.5 * static_cast<double>((first - sorted.begin()) + (end - sorted.begin()) - static_cast<std::ptrdiff_t>(n)));
  }
  RankSums sums{std::vector<double>(stretches), 0};
  for (std::size_t i = 0; i < stretches; ++i) {
    for (std::size_t at = start_of(i, stretches, n); at < start_of(i + 1, stretches, n); ++at) {
      const auto above = std::upper_bound(edges.begin(), edges.end(), values[at]) - edges.begin();
      const double rank = ranks[static_cast<std::size_t>(above) - 1];
      sums.of_stretches[i] += rank;
      sums.squares += rank * rank;
    }
  }
  return sums;
}

}  // namespace

MedianRange median_interval(std::span<const double> sorted) {
  const double n = static_cast<double>(sorted.size());
  const double spread = 1.959963984540054 * 0.5 * std::sqrt(n);
  const auto at = [&](double rank) { return sorted[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
  return {at(std::floor(0.5 * n - spread)), at(std::ceil(0.5 * n + spread))};
}

double same_all_along(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 2 * shortest_stretch) return 1;
  const std::size_t most_stretches = std::bit_floor(n / shortest_stretch);
  RankSums ranks = rank_sums(values, most_stretches);
  if (ranks.squares == 0) return 1;
  const double variance = ranks.squares / static_cast<double>(n - 1);
  double least = 1;
  double tests = 0;
  for (std::size_t stretches = most_stretches; stretches >= 2; stretches /= 2) {
    double between = 0;
    for (std::size_t i = 0; i < stretches; ++i) {
      const double sum = ranks.of_stretches[i];
      between += sum * sum / static_cast<double>(start_of(i + 1, stretches, n) - start_of(i, stretches, n));
    }
    const boost::math::chi_squared none(static_cast<double>(stretches - 1));
    least = std::min(least, boost::math::cdf(boost::math::complement(none, between / variance)));
    ++tests;
    for (std::size_t i = 0; 2 * i < stretches; ++i)  // each longer stretch is two of these
      ranks.of_stretches[i] = ranks.of_stretches[2 * i] + ranks.of_stretches[2 * i + 1];
  }
  return std::min(1.0, tests * least);
}

MedianRange medians_along(std::span<const double> values) {
  const std::size_t n = values.size();
  const auto stretches = static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
  MedianRange along{HUGE_VAL, -HUGE_VAL};
  std::vector<double> stretch;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto at = [&](std::size_t k) {
      return values.begin() + static_cast<std::ptrdiff_t>(start_of(k, stretches, n));
    };
    stretch.assign(at(i), at(i + 1));
    std::sort(stretch.begin(), stretch.end());
    const MedianRange of_it = median_interval(stretch);
    along.low = std::min(along.low, of_it.low);
    along.high = std::max(along.high, of_it.high);
  }
  return along;
}

}  // namespace gputopo::change_point
