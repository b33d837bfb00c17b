#include "evidence/traces/lap_tick.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "change_point/clock_tick.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

// The last decimal that all values are written with.
double last_decimal_of(const Trace& trace) {
  constexpr double finest = 1e-6;
  double unit = 1;
  for (const Row& row : trace.rows)
    for (const double value : row.values)
      while (unit > finest && std::abs(value / unit - std::round(value / unit)) > 1e-9 * value / unit) unit /= 10;
  return unit;
}

// Of a load of the last row; 0 where there is none. Laps are as long as rows are large, and what a value is rounded by
// counts the less the smaller its row.
double tick_of_last_row(const Trace& trace) {
  constexpr std::size_t most_readings = 64;  // of laps that take more different times the clock is fine enough
  constexpr std::size_t most_laps = 64;      // of a row: so many values are loads
  if (trace.loads() > most_laps * trace.rows.size()) return 0;
  const double unit = last_decimal_of(trace), longest = trace.rows.back().control;
  std::set<double> readings;
  for (const Row& row : trace.rows)
    for (const double value : row.values) {
      readings.insert(std::round(value * row.control / longest / unit) * unit);
      if (readings.size() > most_readings) return 0;
    }
  return clock_tick(std::vector<double>(readings.begin(), readings.end()));
}

double mean_of_laps(const Row& row) {
  return std::accumulate(row.values.begin(), row.values.end(), 0.0) / static_cast<double>(row.values.size());
}

}  // namespace

bool is_within_a_tick_of_laps(const Trace& trace, double fits) {
  constexpr double ticks = 1.5;
  const double tick = tick_of_last_row(trace);
  if (tick <= 0) return false;
  double sum = 0, rows = 0, fastest = HUGE_VAL, slowest = 0;
  for (const Row& row : trace.rows) {
    const double mean = mean_of_laps(row);
    fastest = std::min(fastest, mean);
    if (row.control <= fits)
      sum += mean, ++rows;
    else
      slowest = std::max(slowest, mean);
  }
  const double at = std::max(fits, trace.rows.front().control);
  return slowest - (rows > 0 ? sum / rows : fastest) <= ticks * tick * trace.rows.back().control / at;
}

}  // namespace gputopo::evidence
