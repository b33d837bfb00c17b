#include "evidence/traces/trace_together.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "change_point/isotonic.hpp"
#include "change_point/latency_histogram.hpp"
#include "change_point/robust.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "evidence/traces/trace_means.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

// Loads about their rows' means.
struct Scatter {
  double squares = 0, sum = 0, loads = 0, rows = 0;

  void add(const Row& row) {
    double of_row = 0, of_squares = 0;
    const auto count = static_cast<double>(row.values.size());
    for (const double value : row.values) of_row += value, of_squares += value * value;
    squares += std::max(0.0, of_squares - of_row * of_row / count);
    sum += of_row, loads += count, rows += 1;
  }
  double mean() const { return sum / loads; }
  double degrees() const { return loads - rows; }
  double variance() const { return degrees() > 0 ? squares / degrees() : 0; }
};

// And of the lowest or the highest rows how long each took.
struct EndOfRise : Scatter {
  LatencyCounts counts;

  void add(const Row& row) {
    Scatter::add(row);
    counts.add(row.values);
  }
};

struct PassingRows {
  double level = 0, way = 0;  // of the rise, to its neighbours' middles
  Scatter loads;
};

// Rows about one of them whose middles are alike, and a level apart from those of the rows before and behind them:
// walks of which most loads come from one level of several, the farther the larger. A clock's ticks are no levels.
bool are_at_a_level_of_their_own(const std::vector<double>& middles, std::size_t row, double tick) {
  constexpr std::size_t several = 2;
  constexpr double more_than_a_tick = 1.5;
  const double middle = middles[row];
  const double apart = std::max({least_rise_cycles, least_level_share * middle, more_than_a_tick * tick});
  const auto is_alike = [&](std::size_t i) { return 2 * std::fabs(middles[i] - middle) < apart; };
  std::size_t first = row, end = row + 1;
  while (first > 0 && is_alike(first - 1)) --first;
  while (end < middles.size() && is_alike(end)) ++end;
  return end - first >= several && first > 0 && end < middles.size() &&
         std::fabs(middles[first - 1] - middle) >= apart && std::fabs(middles[end] - middle) >= apart;
}

// Whether the fastest tenth of loads hardly moved while means rose: all of a row didn't become slower then, however
// many levels the others are at.
bool do_some_stay(const EndOfRise& low, const EndOfRise& high) {
  constexpr double some = 0.1, hardly = 0.25;
  constexpr std::size_t bins = 4096;
  const double moved =
      change_point::quantile(high.counts.bins(bins), some) - change_point::quantile(low.counts.bins(bins), some);
  return moved < hardly * (high.mean() - low.mean());
}

// Of loads at two levels, whichever share of them misses, the variance lies above a straight line between both ends by
// the product of what means are away from these; of n, by (n - 1)^-2 of that at least, on the whole way.
bool scatter_less_than_levels(const std::vector<PassingRows>& passing, const Scatter& low, const Scatter& high) {
  constexpr double deviations = 2;
  constexpr double least = 1.0 / 16;  // more than five are none
  const double alone = std::max(low.variance(), high.variance());
  double expected = 0, seen = 0, way = 0, error = 0;
  for (const PassingRows& p : passing) {
    const double up = p.level - low.mean(), down = high.mean() - p.level;
    const double by_line = (low.variance() * down + high.variance() * up) / (up + down);
    expected += p.way * up * down;
    seen += p.way * (p.loads.variance() - by_line);
    way += p.way, error += p.way * p.way * 2 / p.loads.degrees();
  }
  error = alone * std::sqrt(error + way * way * (2 / low.degrees() + 2 / high.degrees()));
  return seen + deviations * error < least * expected;
}

}  // namespace

bool do_loads_move_together(std::span<const Row> rows, double least_cycles) {
  constexpr double an_end = 0.15;   // of the rise, on either side
  constexpr double a_level = 0.25;  // of the rise: rows that a step as high leads to, or away from, are a level's
  constexpr std::size_t both_ends_and_one = 3;
  if (rows.size() < both_ends_and_one) return false;
  LatencyCounts loads_of_all;
  for (const Row& row : rows) loads_of_all.add(row.values);
  const std::vector<Bin> bins = loads_of_all.bins(4096);
  const double fast = change_point::quantile(bins, 0.1), slow = change_point::quantile(bins, 0.95);
  Trace trace{{rows.begin(), rows.end()}};  // what is slower than any level is something else
  for (Row& row : trace.rows)
    for (double& value : row.values) value = std::min(value, slow + (slow - fast));
  const MeanCurve curve = mean_curve(trace);
  const RisingLevels rising(curve.rows, curve.sweep.levels);
  const std::vector<double> levels = rising.fitted();
  const double first = levels.front(), rise = levels.back() - first;
  if (rise <= 0 || rise < least_cycles) return false;
  const auto share_of = [&](std::size_t i) { return (levels[i] - first) / rise; };
  const double tick = tick_of(trace);
  std::vector<double> middles;
  for (const Row& row : trace.rows) middles.push_back(change_point::median(row.values));
  EndOfRise low, high;
  std::vector<PassingRows> passing;
  for (std::size_t begin = 0, end = 0; begin < levels.size(); begin = end) {
    end = rising.block(begin).end;
    const double share = share_of(begin);
    Scatter block;
    for (std::size_t i = begin; i < end; ++i) {
      const Row& row = trace.rows[i];
      if (2 * curve.rows[i].weight < static_cast<double>(row.values.size())) continue;  // disturbed
      block.add(row);
      if (share <= an_end) low.add(row);
      if (share >= 1 - an_end) high.add(row);
    }
    if (share <= an_end || share >= 1 - an_end || block.degrees() <= 0) continue;
    if (are_at_a_level_of_their_own(middles, begin, tick)) continue;
    const double from = levels[begin - 1], to = levels[end];
    if (levels[begin] - from < a_level * rise && to - levels[begin] < a_level * rise)
      passing.push_back({levels[begin], (to - from) / 2, block});
  }
  if (passing.empty() || low.degrees() <= 0 || high.degrees() <= 0) return false;
  return !do_some_stay(low, high) && scatter_less_than_levels(passing, low, high);
}

}  // namespace gputopo::evidence
