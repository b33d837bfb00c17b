#include "change_point/levels.hpp"

#include <algorithm>
#include <cmath>

#include "change_point/pelt.hpp"
#include "change_point/robust.hpp"
#include "change_point/size_methods.hpp"
#include "change_point/trace_check.hpp"

namespace gputopo::change_point {

Levels find_levels(const Trace& trace, const Options& /*options*/, std::size_t shortest) {
  Levels result;
  const Trace rows = tidied(trace);
  result.reason = why_unusable(rows, 1);
  if (!result.reason.empty()) {
    return result;
  }
  std::vector<double> means;
  means.reserve(rows.rows.size());
  for (const Row& row : rows.rows) {
    means.push_back(trimmed_mean(row.values, 0.05));
  }
  std::vector<double> squares;
  for (std::size_t i = 1; i < means.size(); ++i) {
    squares.push_back((means[i] - means[i - 1]) * (means[i] - means[i - 1]));
  }
  // Half the median of squared differences over the median of chi-squared with one degree of freedom.
  constexpr double clock_quantum = 1.0 / 12;
  const double noise = std::max(clock_quantum, squares.empty() ? 0 : 0.5 * median(std::move(squares)) / 0.4549);
  result.penalty = bic_penalty(Cost::l2, means.size(), noise);
  const SegmentCost cost(means, Cost::l2);
  std::vector<std::size_t> bounds = pelt(cost, result.penalty, shortest).first_after;
  bounds.push_back(means.size());
  std::size_t begin = 0;
  for (const std::size_t end : bounds) {
    const Level level{rows.rows[begin].control, rows.rows[end - 1].control, cost.mean(begin, end), end - begin};
    begin = end;
    Level* last = result.levels.empty() ? nullptr : &result.levels.back();
    if (last != nullptr && std::abs(level.cycles - last->cycles) < std::max(1.0, 0.01 * last->cycles)) {
      const double both = static_cast<double>(last->rows + level.rows);
      last->cycles =
          (last->cycles * static_cast<double>(last->rows) + level.cycles * static_cast<double>(level.rows)) / both;
      last->last_control = level.last_control;
      last->rows += level.rows;
    } else {
      result.levels.push_back(level);
    }
  }
  return result;
}

}  // namespace gputopo::change_point
