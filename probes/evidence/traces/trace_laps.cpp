#include "evidence/traces/trace_laps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
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

// Of a row in the order of its loads.
struct LinesOfRow {
  std::vector<bool> misses;
  double count = 0, begun = 0;  // that miss, and runs of these that another line comes before

  double all() const { return static_cast<double>(misses.size()); }
  bool are_some() const {
    constexpr double some = 0.1;  // more than strangers
    return count > some * all() && count < (1 - some) * all();
  }
};

// `every` loads begin one.
LinesOfRow lines_of_row(const change_point::Row& row, double threshold_cycles, std::size_t every) {
  LinesOfRow lines;
  for (std::size_t begin = 0; begin + every <= row.values.size(); begin += every) {
    const auto first = row.values.begin() + static_cast<std::ptrdiff_t>(begin);
    const bool is_miss = std::any_of(first, first + static_cast<std::ptrdiff_t>(every),
                                     [&](double value) { return value >= threshold_cycles; });
    const bool begins = is_miss && !lines.misses.empty() && !lines.misses.back();
    lines.count += is_miss ? 1 : 0, lines.begun += begins ? 1 : 0;
    lines.misses.push_back(is_miss);
  }
  return lines;
}

// Whether rows recorded the same loads: what misses in one does in the next, more than by chance and than by half.
bool recur_at_their_places(std::span<const LinesOfRow> rows) {
  double count = 0, again = 0, by_chance = 0;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const LinesOfRow& next = rows[i + 1];
    count += rows[i].count, by_chance += rows[i].count * next.count / std::max(1.0, next.all());
    for (std::size_t at = 0; at < std::min(rows[i].misses.size(), next.misses.size()); ++at)
      again += rows[i].misses[at] && next.misses[at] ? 1 : 0;
  }
  return 2 * (again - by_chance) > count - by_chance;
}

// Sets overflow one after the other, so that lines which lie together miss together: how many, beside as many as would
// if any others were as likely. Of the rows from the first to the last of which some lines miss and others don't, and
// which are parts of laps that begin anywhere; such a part shows few ends of runs, or none.
double lines_that_miss_together(const Trace& trace, double threshold_cycles, std::size_t every) {
  std::vector<LinesOfRow> rows;
  for (const change_point::Row& row : trace.rows) rows.push_back(lines_of_row(row, threshold_cycles, every));
  const auto first = std::ranges::find_if(rows, &LinesOfRow::are_some);
  const auto end =
      std::find_if(rows.rbegin(), std::make_reverse_iterator(first), std::mem_fn(&LinesOfRow::are_some)).base();
  if (first == end || recur_at_their_places({first, end})) return 1;
  double all = 0, misses = 0, begun = 0;
  for (auto row = first; row < end; ++row) all += row->all(), misses += row->count, begun += row->begun;
  const double most = all / static_cast<double>(end - first) / 2;  // two of a row at least: where it begins is one
  return std::max(1.0, std::min(most, misses / std::max(1.0, begun) * (1 - misses / all)));
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
  const auto every = static_cast<std::size_t>(std::lround(1 / sweep.lines_a_load));
  const auto as_parts = [&] {
    sweep.pieces_a_line = 1 / lines_that_miss_together(trace, threshold_cycles, every);
    return sweep;
  };
  const Observation& first = rows.front();
  const Observation& last = rows.back();
  if (!(last.weight >= first.weight + 2)) return as_parts();
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
  if (!sweep.whole_laps) return as_parts();
  sweep.saturation = saturation;
  sweep.dropped_loads = std::max(0.0, most_dropped);
  sweep.line_bytes = 1 / loads_a_byte;
  return sweep;
}

}  // namespace gputopo::evidence
