#include "evidence/inference/fitting_rows.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::evidence {
namespace {

using change_point::block_log_likelihood;
using change_point::Observation;

// A fixed number of misses a lap: k of a footprint of n lines. Others' lines are few (docs/measuring.md): more than
// these are no longer the kernel's own, and a cache whose every footprint misses more isn't one that fits.
constexpr double most_fixed_share = 0.05;
constexpr double most_fixed_lines = 2;
constexpr std::size_t most_steps = 8;  // where levels that only rise do so for the first times

constexpr double impossible = -std::numeric_limits<double>::infinity();

double laps_of(const Observation& row, const Sweep& sweep) {
  return row.weight * sweep.line_bytes / row.control;
}

}  // namespace

FittingRows::FittingRows(std::span<const Observation> rows, const Sweep& sweep,
                         const change_point::RisingLevels& rising)
    : rows_(rows), sweep_(sweep) {
  const Contamination& c = sweep.contamination;
  sums_.push_back({0, c.loads, c.loads * c.false_miss});
  for (const Observation& row : rows) {
    sums_.push_back({row.control, sums_.back().weight + row.weight, sums_.back().sum + row.sum});
    laps_.push_back(laps_.back() + laps_of(row, sweep));
  }
  reference_ = block_log_likelihood(sweep.levels, c.loads, c.loads * c.false_miss);
  for (std::size_t i = 0; sweep.own_lines && i < rows.size() && steps_.size() < most_steps; i = rising.block(i).end) {
    steps_.push_back({i, {}});
    if (sweep.whole_laps && !sweep.foreign && !sweep.by_law_alone) count_fixed(steps_.back());
  }
}

FittingRows::Fit FittingRows::operator()(std::size_t count) const {
  Fit best = at_one_level(count);
  for (const Step& step : steps_) {
    if (step.first >= count) break;
    for (const Fit& fit : {at_two_levels(step.first, count), with_fixed(step, count)})
      if (fit.log_likelihood > best.log_likelihood) best = fit;
  }
  return best;
}

// All of them at one level, together with the loads that hit by construction.
FittingRows::Fit FittingRows::at_one_level(std::size_t count) const {
  const Observation& all = sums_[count];
  return {block_log_likelihood(sweep_.levels, all.weight, all.sum) - reference_,
          all.weight == 0 ? sweep_.contamination.false_miss : all.level()};
}

double FittingRows::most_fixed(std::size_t first) const {
  return std::max(most_fixed_share, most_fixed_lines * sweep_.line_bytes / rows_[first].control);
}

FittingRows::Fit FittingRows::at_two_levels(std::size_t first, std::size_t count) const {
  constexpr double deviations = 2;
  Fit fit = at_one_level(first);
  const double loads = sums_[count].weight - sums_[first].weight;
  const double misses = sums_[count].sum - sums_[first].sum;
  // Of a foreign trace, whose strangers nobody knows, there may be more by chance.
  const double most = (most_fixed(first) + sweep_.contamination.false_miss) * loads;
  if (misses == 0 || misses > most + (sweep_.foreign ? deviations * std::sqrt(most) : 0)) return {impossible};
  fit.log_likelihood += block_log_likelihood(sweep_.levels, loads, misses) - cost(count - first);
  fit.fixed_misses = std::max(0.0, misses - fit.base * loads) / (laps_[count] - laps_[first]);
  fit.fixed_from = first;
  return fit;
}

// The same number in each lap, beside what is missed of the others as of the rows before. Which of a row's misses
// these are isn't known: that they are any f of n loads has to be asked as often as f of its k misses can be chosen.
FittingRows::Fit FittingRows::with_fixed(const Step& step, std::size_t count) const {
  if (step.through.empty()) return {impossible};
  const Fixed& fixed = step.through[count - step.first - 1];
  if (fixed.a_lap == 0) return {impossible};
  const double weight = sums_[count].weight - fixed.misses, sum = sums_[count].sum - fixed.misses;
  const double others = block_log_likelihood(sweep_.levels, weight, sum) - reference_;
  return {others + fixed.log_arrangements - cost(count - step.first), sum / weight, fixed.a_lap, step.first};
}

void FittingRows::count_fixed(Step& step) const {
  constexpr double rounding = 1e-9;
  double least = std::floor(most_fixed(step.first) * rows_[step.first].control / sweep_.line_bytes) + 1;
  if (std::floor(rows_[step.first].sum / laps_of(rows_[step.first], sweep_) + rounding) >= least) return;
  Fixed now;
  for (std::size_t i = step.first; i < rows_.size(); ++i) {
    const double a_lap = std::floor(rows_[i].sum / laps_of(rows_[i], sweep_) + rounding);
    std::size_t from = i;
    if (a_lap < least) least = a_lap, now = {least, 0, 0}, from = step.first;
    for (; from <= i; ++from) {
      const double misses = std::round(least * laps_of(rows_[from], sweep_));
      now.misses += misses;
      for (double j = 0; j < misses; ++j)
        now.log_arrangements += std::log((rows_[from].sum - j) / (rows_[from].weight - j));
    }
    step.through.push_back(now);
  }
}

// Two parameters and a choice among the steps, for what one sweep in five or so has. Rows of a foreign trace are few
// and far apart: three alike are a level, one or two are the onset of a rise as well. What to walk next should leave
// more open than an answer does.
double FittingRows::cost(std::size_t rows) const {
  constexpr double own = 5, own_by_law = 3, level = 2.5, onset = 4;
  if (!sweep_.foreign) return sweep_.by_law_alone ? own_by_law : own;
  return rows >= 3 ? level : onset;
}

}  // namespace gputopo::evidence
