#include <algorithm>

#include "change_point/kolmogorov_smirnov.hpp"
#include "change_point/reduction.hpp"
#include "change_point/split_test.hpp"
#include "change_point/trace_check.hpp"
#include "evidence/estimates.hpp"
#include "evidence/traces.hpp"

namespace gputopo::evidence {

using namespace change_point;

Estimate find_size_by_thesis(const Trace& trace, const TraceOptions& options) {
  constexpr const char* method = "geometric_ks";
  constexpr double level = 0.05;
  const Trace tidy = is_tidy(trace) ? Trace{} : tidied(trace);
  const Trace& rows = is_tidy(trace) ? trace : tidy;
  if (const std::string reason = why_unusable(rows, 2); !reason.empty()) return inconclusive("B", method, reason);
  const std::vector<double> distances = distances_per_load(rows);
  const SplitTest test = test_best_split(distances, Cost::l2, options.seed);
  const std::size_t before = test.split.first_after;
  const std::size_t count = distances.size();
  if (test.ks <= ks_critical_value(level, before, count - before)) {
    Estimate e = measured(rows.rows.back().control, "B", method, rows.loads());
    e.status = Status::lower_bound;
    e.confidence = test.calibrated_p_value;
    e.note = "the Kolmogorov-Smirnov test finds no change of the geometric distance within the sweep";
    return e;
  }
  const SegmentCost cost(distances, Cost::l2);
  if (cost.mean(before, count) < cost.mean(0, before))
    return inconclusive("B", method, "latencies fall where they change most, which a cache can't cause");
  Estimate e = measured(rows.rows[before - 1].control, "B", method, rows.loads());
  e.confidence = 1 - test.calibrated_p_value;
  // Splits that cost no more than the best one plus chi-squared's 95 % point, at the variance the best one leaves.
  const double allowed = test.split.cost + 3.84 * test.split.cost / static_cast<double>(count);
  e.interval = Interval{*e.value, *e.value};
  for (std::size_t i = 1; i < count; ++i) {
    if (cost(0, i) + cost(i, count) > allowed) continue;
    e.interval->low = std::min(e.interval->low, rows.rows[i - 1].control);
    e.interval->high = std::max(e.interval->high, rows.rows[i - 1].control);
  }
  return e;
}

}  // namespace gputopo::evidence
