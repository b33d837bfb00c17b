#include "evidence/traces/trace_fast_laps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evidence/inference/estimates.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "evidence/traces/trace_means.hpp"

namespace gputopo::evidence {
namespace {

using change_point::Row;
using change_point::Trace;

double fastest_of(const Row& row) {
  return *std::min_element(row.values.begin(), row.values.end());
}

double average_of(const Row& row) {
  return std::accumulate(row.values.begin(), row.values.end(), 0.0) / static_cast<double>(row.values.size());
}

// Averages of hits alone may be whole ones, of hits and slower loads hardly any is.
bool are_averages(const Trace& trace) {
  constexpr std::size_t fewest = 4, most = 64;
  std::size_t others = 0, whole = 0;
  const double hits = fastest_of(trace.rows.front());
  for (const Row& row : trace.rows) {
    if (row.values.size() < fewest || row.values.size() > most) return false;
    for (const double value : row.values) {
      if (value == hits) continue;
      ++others;
      whole += value == std::round(value) ? 1 : 0;
    }
  }
  return 2 * whole < others && tick_of(trace) == 0;
}

// The last footprint behind `fits` of which some lap is as fast as those that fit: by a tenth of what it takes longer
// on average at most. 0: none is.
double last_fast_lap(const Trace& trace, double fits) {
  constexpr double hardly = 0.1;
  double usual = 0, fastest = 0, rows = 0, last = 0;
  for (const Row& row : trace.rows) {
    if (row.control <= fits) {
      usual += average_of(row), ++rows;
      fastest = std::max(fastest, fastest_of(row));
    } else if (rows != 0 && fastest_of(row) - fastest <= hardly * (average_of(row) - usual / rows)) {
      last = row.control;
    }
  }
  return last;
}

}  // namespace

std::optional<Estimate> size_by_fast_laps(const Trace& trace, const Estimate& size) {
  const bool is_bound = size.status == Status::upper_bound;
  if ((size.status != Status::measured && !is_bound) || !are_averages(trace)) return std::nullopt;
  // That some laps of the smallest footprint are slow and others aren't is no miss's doing: all go to the same lines.
  const double fast = is_bound ? trace.rows.front().control : last_fast_lap(trace, *size.value);
  if (fast == 0) return std::nullopt;
  Trace fastest;
  for (const Row& row : trace.rows) fastest.rows.push_back({row.control, {fastest_of(row)}});
  Estimate by_these = size_by_means(fastest);
  if (by_these.status != Status::measured || *by_these.value < fast)
    return inconclusive("B", by_these.method,
                        "laps of larger footprints are as fast as those of what seems to fit: something else than "
                        "misses slows the others");
  by_these.note = "by the fastest lap of each row: something else than misses slows others";
  return by_these;
}

}  // namespace gputopo::evidence
