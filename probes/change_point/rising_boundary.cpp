#include "change_point/rising_boundary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "change_point/robust.hpp"
#include "change_point/split.hpp"

namespace gputopo::change_point {
namespace {

// Loads of some rows: how many, in each of all loads' bins, and their mean.
struct Group {
  std::vector<double> counts;
  double loads = 0, sum = 0;
  double mean() const { return sum / loads; }
};

Group group_of(std::span<const Row> rows, std::span<const Bin> bins, double clip) {
  LatencyCounts fine;
  Group group{std::vector<double>(bins.size()), 0, 0};
  for (const Row& row : rows) {
    fine.add(row.values);
    for (const double value : row.values) group.sum += std::min(value, clip);
    group.loads += static_cast<double>(row.values.size());
  }
  std::size_t at = 0;
  for (const Bin& bin : fine.bins(std::numeric_limits<std::size_t>::max())) {
    while (at + 1 < bins.size() && bins[at + 1].value <= bin.value) ++at;
    group.counts[at] += static_cast<double>(bin.count);
  }
  return group;
}

// The area between both distributions: by how much a load is slower on the average. Only where they differ by a quarter
// of the most at least: of few loads that are far away more or fewer come to some rows by chance, and they lie so far
// that a level a cycle away would seem to be a size's.
double moved_by(std::span<const Bin> bins, std::span<const double> apart) {
  constexpr double much = 0.25;
  const double most = *std::max_element(apart.begin(), apart.end());
  double area = 0;
  for (std::size_t i = 1; i < bins.size(); ++i)
    if (apart[i] >= much * most) area += apart[i] * (bins[i].value - bins[i - 1].value);
  return area;
}

}  // namespace

std::optional<RisingBoundary> rising_boundary(const Trace& trace, std::span<const Bin> bins) {
  if (trace.rows.size() < 2 || bins.size() < 2) return std::nullopt;
  const double clip = quantile(bins, 0.995);
  std::vector<double> means;
  for (const Row& row : trace.rows) {
    double sum = 0;
    for (const double value : row.values) sum += std::min(value, clip);
    means.push_back(sum / static_cast<double>(row.values.size()));
  }
  const auto split = best_split(SegmentCost(means, Cost::l2));
  if (!split) return std::nullopt;
  const std::span rows(trace.rows);
  const Group before = group_of(rows.first(split->first_after), bins, clip);
  const Group behind = group_of(rows.subspan(split->first_after), bins, clip);
  std::vector<double> apart(bins.size());     // by how much shares above differ, by the first bin above
  std::vector<double> variance(bins.size());  // of what the loads of all bins before this one add to such a difference
  for (std::size_t i = 0; i + 1 < bins.size(); ++i) {
    apart[i + 1] = apart[i] + before.counts[i] / before.loads - behind.counts[i] / behind.loads;
    variance[i + 1] = variance[i] + before.counts[i] / (before.loads * before.loads) +
                      behind.counts[i] / (behind.loads * behind.loads);
  }
  const auto best = static_cast<std::size_t>(std::max_element(apart.begin(), apart.end()) - apart.begin());
  if (best == 0 || behind.mean() <= before.mean()) return std::nullopt;
  constexpr double deviations = 2;
  std::size_t first_upper = best;
  for (std::size_t i = 1; i < bins.size(); ++i) {
    const bool is_as_good = apart[best] - apart[i] <= deviations * std::sqrt(std::abs(variance[best] - variance[i]));
    if (is_as_good && bins[i].value - bins[i - 1].value > bins[first_upper].value - bins[first_upper - 1].value)
      first_upper = i;
  }
  const double step = moved_by(bins, apart) / apart[best];
  return RisingBoundary{boundary_at(bins, first_upper, step), split->first_after};
}

}  // namespace gputopo::change_point
