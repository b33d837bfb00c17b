#include "evidence/shift.hpp"

#include <cmath>
#include <limits>
#include <map>

namespace gputopo::evidence {

Interval shift_between(const Histogram& fast, const Histogram& slow, double deviations) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  std::map<double, double> differences;
  for (const auto& a : slow)
    for (const auto& b : fast)
      differences[static_cast<double>(a.latency_cycles) - static_cast<double>(b.latency_cycles)] +=
          static_cast<double>(a.count) * static_cast<double>(b.count);
  const auto m = static_cast<double>(total(fast)), n = static_cast<double>(total(slow));
  // Mann and Whitney's statistic: its mean, and as many of its standard deviations.
  const double middle = m * n / 2, reach = deviations * std::sqrt(m * n * (m + n + 1) / 12);
  Interval shift{-endless, endless};
  if (differences.empty() || reach >= middle) return shift;
  double before = 0;
  for (const auto& [difference, count] : differences) {
    if (before <= middle - reach) shift.low = difference;
    if (before < middle + reach) shift.high = difference;
    before += count;
  }
  return shift;
}

}  // namespace gputopo::evidence
