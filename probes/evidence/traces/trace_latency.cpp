#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "change_point/clock_tick.hpp"
#include "change_point/file_order.hpp"
#include "change_point/latency_histogram.hpp"
#include "change_point/mixture.hpp"
#include "change_point/robust.hpp"
#include "change_point/trace_check.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

constexpr const char* method = "median";
// The median lies between the least and the greatest of n values with probability 1 - 2^(1 - n).
constexpr std::size_t fewest_for_95_percent = 6;
// That independent loads differ as much along the file. It costs an interval of all that their stretches differ by.
constexpr double not_by_chance = 0.01;

// The latencies from `low` on that are below `high`: one level of a memory.
struct Level {
  double low = 0;
  double high = HUGE_VAL;
};

Level level_around(double latency, const std::vector<Bin>& bins, double tick) {
  Level level;
  for (const Boundary& boundary : boundaries_of(fit_mixture(bins, 6), bins)) {
    // Levels that are closer than this are one memory's banks and distances; readings of one latency are up to a tick
    // apart, and the next ones two ticks.
    if (boundary.step < std::max({2.0, 0.25 * boundary.lower_mean, 1.5 * tick})) continue;
    if (boundary.threshold_cycles <= latency)
      level.low = boundary.threshold_cycles;
    else
      level.high = std::min(level.high, boundary.threshold_cycles);
  }
  return level;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  double squares = 0;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return {sum / n, std::sqrt(squares / n)};
}

std::vector<double> in_file_order(const Trace& trace, const Level& level = {}) {
  std::vector<double> values;
  for (const Row& row : trace.rows)
    for (const double value : row.values)
      if (value >= level.low && value < level.high) values.push_back(value);
  return values;
}

// Order statistics hold for independent loads. Where those of one level differ along the file, the median may have been
// what it is at any time of it.
void widen_by_time(Estimate& e, const std::vector<double>& within) {
  if (same_all_along(within) > not_by_chance) return;
  const MedianRange along = medians_along(within);
  e.interval = Interval{std::min(e.interval->low, along.low), std::max(e.interval->high, along.high)};
  e.note =
      "loads differ along the file by more than chance (a drift, a clock that changes): the interval is what the "
      "medians of its stretches cover";
}

// Two readings of a clock that counts in more than a cycle are each as much off. A latency between two ticks reads as
// the one as often as it is close to it: where loads differ by less than a tick their mean is right, while the median
// is one of the two ticks.
void widen_by_tick(Estimate& e, const std::vector<double>& within, double tick) {
  const auto [mean, deviation] = moments_of(within);
  if (deviation > 0 && deviation < tick) {
    const bool is_steady = e.note.empty();
    e.value = mean;
    e.interval =
        is_steady ? Interval{mean, mean} : Interval{std::min(e.interval->low, mean), std::max(e.interval->high, mean)};
  }
  e.interval->low = std::max(0.0, e.interval->low - tick);
  e.interval->high += tick;
}

// Of a first lap, say. How many they are is the recorder's choice, and so is which level holds the median.
bool others_come_in_stretches(std::vector<double> values, const Level& level) {
  for (double& value : values) value = value >= level.low && value < level.high ? 1 : 0;
  return same_all_along(values) <= not_by_chance;
}

}  // namespace

Estimate find_latency(const Trace& trace) {
  for (const Row& row : trace.rows) {
    for (const double value : row.values) {
      if (!(value >= 0 && value <= largest_latency_cycles)) {
        return inconclusive("cycles", method, "a value is not a latency from 0 to 1e12 cycles");
      }
    }
  }
  std::vector<double> values = in_file_order(trace);
  if (values.empty()) {
    return inconclusive("cycles", method, "there are no latencies");
  }
  const std::size_t loads = values.size();
  if (loads < fewest_for_95_percent) {
    return inconclusive("cycles", method, "fewer than 6 loads don't tell where the median lies", loads);
  }
  std::sort(values.begin(), values.end());
  if (values.back() == 0) {
    return inconclusive("cycles", method, "every load took 0: the clock counts in more than a load takes", loads);
  }
  Estimate e = measured(change_point::median(values), "cycles", method, loads);
  const MedianRange of_loads = median_interval(values);
  e.interval = Interval{of_loads.low, of_loads.high};

  const auto bins = latency_histogram(trace, 400);
  const double tick = clock_tick(values);
  const Level level = level_around(*e.value, bins, tick);
  values = in_file_order(trace, level);
  e.confidence = static_cast<double>(values.size()) / static_cast<double>(loads);
  if (*e.confidence < 0.5) {
    return inconclusive("cycles", method,
                        "no level of latency holds half of the loads; the median lies in one of several", loads);
  }
  widen_by_time(e, values);
  // Of a counter's whole cycles a power of two that divides all of them is one, however few they are.
  if (const double coarsest = std::max(tick, clock_quantum(bins)); coarsest > 1) widen_by_tick(e, values, coarsest);
  if (e.note.empty() && values.size() < loads && others_come_in_stretches(in_file_order(trace), level)) {
    e.note =
        "loads of other levels come in stretches of the file (a first lap, or a clock that changed): the value is of "
        "the level that holds most loads";
  }
  return e;
}

}  // namespace gputopo::evidence
