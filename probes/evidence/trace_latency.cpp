#include <algorithm>
#include <cmath>

#include "change_point/latency_histogram.hpp"
#include "change_point/mixture.hpp"
#include "change_point/robust.hpp"
#include "change_point/trace_check.hpp"
#include "evidence/estimates.hpp"
#include "evidence/traces.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

// The median lies between the least and the greatest of n values with probability 1 - 2^(1 - n).
constexpr std::size_t fewest_for_95_percent = 6;

}  // namespace

Estimate find_latency(const Trace& trace) {
  constexpr const char* method = "median";
  std::vector<double> values;
  for (const Row& row : trace.rows) {
    for (const double value : row.values) {
      if (!(value >= 0 && value <= largest_latency_cycles)) {
        return inconclusive("cycles", method, "a value is not a latency from 0 to 1e12 cycles");
      }
      values.push_back(value);
    }
  }
  if (values.empty()) {
    return inconclusive("cycles", method, "there are no latencies");
  }
  if (values.size() < fewest_for_95_percent) {
    return inconclusive("cycles", method, "fewer than 6 loads don't tell where the median lies", values.size());
  }
  std::sort(values.begin(), values.end());
  Estimate e = measured(change_point::median(values), "cycles", method, values.size());
  const double n = static_cast<double>(values.size());
  const double spread = 1.959963984540054 * 0.5 * std::sqrt(n);
  const auto at = [&](double rank) { return values[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
  e.interval = Interval{at(std::floor(0.5 * n - spread)), at(std::ceil(0.5 * n + spread))};

  const auto bins = latency_histogram(trace, 400);
  // Two readings of a clock that counts in more than a cycle are each as much off.
  if (const double quantum = clock_quantum(bins); quantum > 1) {
    e.interval->low -= quantum;
    e.interval->high += quantum;
  }
  const auto components = fit_mixture(bins, 6);
  double from = 0;
  double to = HUGE_VAL;
  for (const Boundary& boundary : boundaries_of(components, bins)) {
    // Levels that are closer than this are one memory's banks and distances.
    if (boundary.step < std::max(2.0, 0.25 * boundary.lower_mean)) {
      continue;
    }
    if (boundary.threshold_cycles <= *e.value) {
      from = boundary.threshold_cycles;
    } else {
      to = std::min(to, boundary.threshold_cycles);
    }
  }
  const auto within = std::count_if(values.begin(), values.end(), [&](double v) { return v >= from && v < to; });
  e.confidence = static_cast<double>(within) / n;
  if (*e.confidence >= 0.5) return e;
  return inconclusive("cycles", method,
                      "no level of latency holds half of the loads; the median lies in one of several", values.size());
}

}  // namespace gputopo::evidence
