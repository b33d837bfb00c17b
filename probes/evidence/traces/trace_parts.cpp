#include "evidence/traces/trace_parts.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::evidence {

using namespace change_point;

namespace {

double share_between(std::span<const Row> rows, double least, double most) {
  double loads = 0, between = 0;
  for (const Row& row : rows) {
    loads += static_cast<double>(row.values.size());
    between += static_cast<double>(
        std::ranges::count_if(row.values, [&](double value) { return value >= least && value < most; }));
  }
  return between / loads;
}

}  // namespace

Trace hits_of(const Trace& trace, const Separation& s, double size) {
  Trace hits;
  for (const Row& row : trace.rows) {
    if (row.control > size) continue;
    hits.rows.push_back({row.control, {}});
    for (const double value : row.values)
      if (value < s.boundary.threshold_cycles) hits.rows.back().values.push_back(value);
    if (hits.rows.back().values.empty()) hits.rows.pop_back();
  }
  return hits;
}

Trace about_change(const Trace& trace, std::span<const Separation> candidates, const Separation& s, std::size_t last) {
  const std::span rows(trace.rows);
  const double change = s.boundary.threshold_cycles;
  double least = 0;
  for (const Separation& below : candidates) {
    const double threshold = below.boundary.threshold_cycles;
    if (threshold < change && below.has_a_gap() && share_between(rows.subspan(last), 0, threshold) > tolerated_share &&
        share_between(rows.first(last + 1), threshold, change) > tolerated_share)
      least = std::max(least, threshold);
  }
  Trace about = trace;
  for (Row& row : about.rows) std::erase_if(row.values, [&](double value) { return value < least; });
  return about;
}

Trace without_farther(const Trace& trace, std::span<const Separation> candidates, const Separation& s) {
  double most = HUGE_VAL;
  for (const Separation& above : candidates)
    if (above.boundary.threshold_cycles > s.boundary.threshold_cycles && above.has_a_gap() &&
        !surely_changes_with_size(above, candidates.size()))
      most = std::min(most, above.boundary.threshold_cycles);
  Trace near = trace;
  for (Row& row : near.rows) std::erase_if(row.values, [&](double value) { return value >= most; });
  std::erase_if(near.rows, [](const Row& row) { return row.values.empty(); });
  return near;
}

std::vector<Row> rows_from(const Trace& trace, std::size_t first) {
  std::vector<Row> rows(trace.rows.begin() + static_cast<std::ptrdiff_t>(first), trace.rows.end());
  std::erase_if(rows, [](const Row& row) { return row.values.empty(); });
  return rows;
}

}  // namespace gputopo::evidence
