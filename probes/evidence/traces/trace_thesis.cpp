#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "change_point/kolmogorov_smirnov.hpp"
#include "change_point/reduction.hpp"
#include "change_point/split_test.hpp"
#include "change_point/trace_check.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

constexpr const char* trace_thesis_method = "geometric_ks";
constexpr double trace_thesis_level = 0.05;

// D is 1 at most: where the critical value isn't below, no difference whatever would be one to the test.
bool could_tell(std::size_t before, std::size_t after) {
  return ks_critical_value(trace_thesis_level, before, after) < 1;
}

// That the test finds nothing says nothing where it couldn't have: of rows that all lie above those before, and are too
// few for it, nothing is said, and the others are tested by themselves. How many these are; 0 where they are too few.
// Each time the last row has to be over twice what the one before is, so there are few times.
std::size_t testable(std::span<const double> distances) {
  for (std::size_t count = distances.size(); could_tell(count / 2, count - count / 2);) {
    const auto seen = distances.first(count);
    const SegmentCost cost(seen, Cost::l2);
    const std::size_t before = best_split(cost)->first_after;
    if (could_tell(before, count - before)) return count;
    const bool rises = cost.mean(before, count) > cost.mean(0, before);
    if (!rises || ks_statistic(seen.first(before), seen.subspan(before)) < 1) return count;
    count = before;
  }
  return 0;
}

}  // namespace

Estimate find_size_by_thesis(const Trace& trace, const TraceOptions& options) {
  const Trace tidy = is_tidy(trace) ? Trace{} : tidied(trace);
  const Trace& rows = is_tidy(trace) ? trace : tidy;
  if (const std::string reason = why_unusable(rows, 2); !reason.empty())
    return inconclusive("B", trace_thesis_method, reason);
  const std::vector<double> all = distances_per_load(rows);
  const std::size_t count = testable(all);
  if (count == 0)
    return inconclusive("B", trace_thesis_method, "there are too few rows for the Kolmogorov-Smirnov test");
  const auto distances = std::span(all).first(count);
  const SplitTest test = test_best_split(distances, Cost::l2, options.seed);
  const std::size_t before = test.split.first_after;
  if (test.ks <= ks_critical_value(trace_thesis_level, before, count - before)) {
    Estimate e = measured(rows.rows[count - 1].control, "B", trace_thesis_method, rows.loads());
    e.status = Status::lower_bound;
    e.confidence = test.calibrated_p_value;
    e.note = "the Kolmogorov-Smirnov test finds no change of the geometric distance within the sweep";
    return e;
  }
  const SegmentCost cost(distances, Cost::l2);
  if (cost.mean(before, count) < cost.mean(0, before))
    return inconclusive("B", trace_thesis_method, "latencies fall where they change most, which a cache can't cause");
  Estimate e = measured(rows.rows[before - 1].control, "B", trace_thesis_method, rows.loads());
  e.confidence = 1 - test.calibrated_p_value;
  e.note = "where both sides differ most, which is the onset or behind it";
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
