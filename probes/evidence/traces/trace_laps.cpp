#include "evidence/traces/trace_laps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gputopo::evidence {
namespace {

using change_point::Observation;
using change_point::Trace;

constexpr std::size_t longest_gap = 64;
constexpr std::size_t enough_gaps = 2000;

// Distances between neighbouring misses of one row, from the last rows on: that is where misses are.
std::vector<std::size_t> miss_gaps(const Trace& trace, double threshold_cycles) {
  std::vector<std::size_t> gaps;
  for (std::size_t i = trace.rows.size(); i-- > 0 && gaps.size() < enough_gaps;) {
    std::size_t since = 0;  // 0: none seen yet
    for (const double value : trace.rows[i].values) {
      if (value >= threshold_cycles) {
        if (since > 0 && since <= longest_gap) {
          gaps.push_back(since);
        }
        since = 1;
      } else if (since > 0) {
        ++since;
      }
    }
  }
  return gaps;
}

double saturation_of(const std::vector<std::size_t>& gaps) {
  if (gaps.size() < 3) {
    return -1;
  }
  for (std::size_t every = longest_gap; every > 1; --every) {
    const auto fitting = std::count_if(gaps.begin(), gaps.end(), [every](std::size_t gap) { return gap % every == 0; });
    if (10 * static_cast<std::size_t>(fitting) >= 9 * gaps.size()) {
      return 1.0 / static_cast<double>(every);
    }
  }
  return 1;
}

}  // namespace

Sweep sweep_of(const Trace& trace, std::span<const Observation> rows, double threshold_cycles) {
  Sweep sweep;
  sweep.contamination = foreign_contamination;
  sweep.own_lines = true;
  sweep.whole_laps = false;
  sweep.saturation = -1;
  sweep.foreign = true;
  const Observation& first = rows.front();
  const Observation& last = rows.back();
  if (!(last.weight >= first.weight + 2)) return sweep;
  const double loads_a_byte = (last.weight - first.weight) / (last.control - first.control);
  double fewest_dropped = HUGE_VAL;
  double most_dropped = -HUGE_VAL;
  for (const Observation& row : rows) {
    const double dropped = row.control * loads_a_byte - row.weight;
    fewest_dropped = std::min(fewest_dropped, dropped);
    most_dropped = std::max(most_dropped, dropped);
  }
  const double tolerated = std::max(1.0, 0.05 * first.weight);
  sweep.whole_laps = fewest_dropped > -0.5 && most_dropped <= tolerated && most_dropped - fewest_dropped < 1.5;
  if (!sweep.whole_laps) return sweep;
  sweep.saturation = saturation_of(miss_gaps(trace, threshold_cycles));
  sweep.dropped_loads = std::max(0.0, most_dropped);
  sweep.line_bytes = 1 / loads_a_byte;
  return sweep;
}

}  // namespace gputopo::evidence
