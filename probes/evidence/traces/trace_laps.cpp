#include "evidence/traces/trace_laps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gputopo::evidence {
namespace {

using change_point::Observation;
using change_point::Trace;

constexpr std::size_t farthest = 64;  // loads of one sector

// How many pairs of misses of a row lie so many loads apart, from the last rows on: that is where misses are.
struct Distances {
  std::vector<double> pairs = std::vector<double>(farthest + 1);
  std::size_t neighbours = 0;  // the nearest of these
};

Distances distances_of_misses(const Trace& trace, double threshold_cycles) {
  constexpr std::size_t enough = 2000;
  Distances distances;
  for (std::size_t i = trace.rows.size(); i-- > 0 && distances.neighbours < enough;) {
    const std::vector<double>& values = trace.rows[i].values;
    std::vector<std::size_t> misses;
    for (std::size_t at = 0; at < values.size() && distances.neighbours < enough; ++at) {
      if (values[at] < threshold_cycles) continue;
      for (auto before = misses.rbegin(); before != misses.rend() && at - *before <= farthest; ++before)
        ++distances.pairs[at - *before];
      if (!misses.empty() && at - misses.back() <= farthest) ++distances.neighbours;
      misses.push_back(at);
    }
  }
  return distances;
}

// Misses of loads that begin a sector are multiples of its loads apart, whatever others come between. Of a distance
// that is none there are pairs by strangers alone, and half as many at most.
double saturation_of(const Distances& distances) {
  constexpr std::size_t fewest = 3;
  constexpr double at_most = 0.5;
  if (distances.neighbours < fewest) return -1;
  for (std::size_t every = farthest; every > 1; --every) {
    double multiples = 0, most_of_others = 0;
    for (std::size_t apart = 1; apart <= farthest; ++apart) {
      if (apart % every == 0)
        multiples += distances.pairs[apart];
      else
        most_of_others = std::max(most_of_others, distances.pairs[apart]);
    }
    const double a_multiple = multiples / static_cast<double>(farthest / every);
    if (a_multiple > 0 && most_of_others <= at_most * a_multiple) return 1.0 / static_cast<double>(every);
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
  const double saturation = saturation_of(distances_of_misses(trace, threshold_cycles));
  if (saturation > 0) sweep.lines_a_load = saturation;
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
  sweep.saturation = saturation;
  sweep.dropped_loads = std::max(0.0, most_dropped);
  sweep.line_bytes = 1 / loads_a_byte;
  return sweep;
}

}  // namespace gputopo::evidence
