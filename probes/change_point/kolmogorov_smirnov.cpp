#include "change_point/kolmogorov_smirnov.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "stop/stop.hpp"

namespace gputopo::change_point {

double ks_statistic(std::span<const double> a, std::span<const double> b) {
  std::vector<double> x(a.begin(), a.end());
  std::vector<double> y(b.begin(), b.end());
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  std::size_t i = 0;
  std::size_t j = 0;
  double greatest = 0;
  while (i < x.size() && j < y.size()) {
    const double value = std::min(x[i], y[j]);
    while (i < x.size() && x[i] == value) {
      ++i;
    }
    while (j < y.size() && y[j] == value) {
      ++j;
    }
    const double distance =
        static_cast<double>(i) / static_cast<double>(x.size()) - static_cast<double>(j) / static_cast<double>(y.size());
    greatest = std::max(greatest, std::abs(distance));
  }
  return greatest;
}

double ks_exact_p_value(double d, std::size_t m, std::size_t n) {
  // D is a multiple of 1 / lcm(m, n); compare in whole numbers so that rounding can't move a path across the bound.
  const double common = static_cast<double>(std::lcm(m, n));
  const double bound = std::round(d * common);
  if (bound <= 0) {
    return 1;
  }
  const double step_a = common / static_cast<double>(m);
  const double step_b = common / static_cast<double>(n);
  // touched[j]: share of the paths from (0, 0) to (i, j) that have been at least the bound away from the diagonal.
  std::vector<double> touched(n + 1, 0);
  for (std::size_t i = 0; i <= m; ++i) {
    stop::look();
    for (std::size_t j = 0; j <= n; ++j) {
      const double distance = std::abs(static_cast<double>(i) * step_a - static_cast<double>(j) * step_b);
      if (distance >= bound) {
        touched[j] = 1;
      } else if (i + j > 0) {
        const double from_a = i > 0 ? touched[j] * static_cast<double>(i) : 0;
        const double from_b = j > 0 ? touched[j - 1] * static_cast<double>(j) : 0;
        touched[j] = (from_a + from_b) / static_cast<double>(i + j);
      }
    }
  }
  return touched[n];
}

double ks_asymptotic_p_value(double d, std::size_t m, std::size_t n) {
  const double x = static_cast<double>(m);
  const double y = static_cast<double>(n);
  const double lambda = d * std::sqrt(x * y / (x + y));
  if (lambda <= 0) {
    return 1;
  }
  constexpr int terms = 20;
  if (lambda < 1) {
    // Jacobi's transformation of the same series, which converges fast for small arguments.
    double sum = 0;
    for (int k = 1; k <= terms; ++k) {
      const double odd = 2 * k - 1;
      sum += std::exp(-odd * odd * std::numbers::pi * std::numbers::pi / (8 * lambda * lambda));
    }
    return std::clamp(1 - std::sqrt(2 * std::numbers::pi) / lambda * sum, 0.0, 1.0);
  }
  double sum = 0;
  for (int k = terms; k >= 1; --k) {
    sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
  }
  return std::clamp(sum, 0.0, 1.0);
}

double ks_p_value(double d, std::size_t m, std::size_t n) {
  return m * n <= 1000000 ? ks_exact_p_value(d, m, n) : ks_asymptotic_p_value(d, m, n);
}

double ks_critical_value(double level, std::size_t m, std::size_t n) {
  const double x = static_cast<double>(m);
  const double y = static_cast<double>(n);
  return std::sqrt(-0.5 * (x + y) / (x * y) * std::log(level / 2));
}

}  // namespace gputopo::change_point
