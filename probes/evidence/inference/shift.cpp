#include "evidence/inference/shift.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace gputopo::evidence {
namespace {

// The differences of every slow load and every fast one, in order, by their number. Histograms ascend.
class Differences {
 public:
  Differences(const Histogram& fast, const Histogram& slow)
      : fast_(fast), slow_(slow), fast_loads_(static_cast<double>(total(fast))) {}

  // The least one that, with all below it, more than `rank` pairs have; one is rank 0.
  std::int64_t at(double rank) const {
    std::int64_t low = between(slow_.front(), fast_.back()), high = between(slow_.back(), fast_.front());
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (up_to(middle) > rank)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

 private:
  static std::int64_t between(const program::LatencyCount& slow, const program::LatencyCount& fast) {
    return std::int64_t{slow.latency_cycles} - std::int64_t{fast.latency_cycles};
  }

  double up_to(std::int64_t difference) const {
    double pairs = 0, faster = 0;
    auto next = fast_.begin();
    for (const auto& a : slow_) {
      for (; next != fast_.end() && between(a, *next) > difference; ++next) faster += static_cast<double>(next->count);
      pairs += static_cast<double>(a.count) * (fast_loads_ - faster);
    }
    return pairs;
  }

  const Histogram& fast_;
  const Histogram& slow_;
  double fast_loads_;
};

}  // namespace

Interval shift_between(const Histogram& fast, const Histogram& slow, double deviations) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  const auto m = static_cast<double>(total(fast)), n = static_cast<double>(total(slow));
  // Mann and Whitney's statistic: its mean, and as many of its standard deviations.
  const double middle = m * n / 2, reach = deviations * std::sqrt(m * n * (m + n + 1) / 12);
  if (reach >= middle) return {-endless, endless};
  const Differences differences(fast, slow);
  // No more than `middle - reach` pairs differ by less than the low end, and by at most the high one at least as many
  // as `middle + reach`.
  return {static_cast<double>(differences.at(std::floor(middle - reach))),
          static_cast<double>(differences.at(std::ceil(middle + reach) - 1))};
}

}  // namespace gputopo::evidence
