#include "change_point/robust.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <boost/math/distributions/chi_squared.hpp>

namespace gputopo::change_point {

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) {
    return *half;
  }
  return 0.5 * (*half + *std::max_element(values.begin(), half));
}

double shorth(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2 + 1;
  double shortest = values.back() - values.front();
  std::size_t first = 0, last = values.size() - half;
  for (std::size_t i = 0; i + half <= values.size(); ++i) {
    const double length = values[i + half - 1] - values[i];
    if (length < shortest || i == 0) shortest = length, first = i;
    if (length == shortest) last = i;
  }
  const auto mean_from = [&](std::size_t i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(half), 0.0) / static_cast<double>(half);
  };
  return 0.5 * (mean_from((first + last) / 2) + mean_from((first + last + 1) / 2));
}

double mean_of_most(std::vector<double> values) {
  constexpr double left_out = 0.1;
  const auto n = static_cast<double>(values.size());
  const double kept = n - std::ceil(left_out * n);
  if (kept < 1) return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(kept);
  std::nth_element(values.begin(), end - 1, values.end());
  const double sum = std::accumulate(values.begin(), end, 0.0);
  const double largest = boost::math::quantile(boost::math::chi_squared(1), kept / n);
  return sum / n / boost::math::cdf(boost::math::chi_squared(3), largest);
}

double quantile(std::span<const Bin> bins, double share) {
  double total = 0;
  for (const Bin& bin : bins) {
    total += static_cast<double>(bin.count);
  }
  double below = 0;
  for (const Bin& bin : bins) {
    below += static_cast<double>(bin.count);
    if (below >= share * total) {
      return bin.value;
    }
  }
  return bins.empty() ? 0 : bins.back().value;
}

}  // namespace gputopo::change_point
