#include <cmath>

#include "change_point/kolmogorov_smirnov.hpp"
#include "change_point/reduction.hpp"
#include "change_point/size_methods.hpp"
#include "change_point/split_test.hpp"
#include "change_point/trace_check.hpp"

namespace gputopo::change_point {

Finding find_size_thesis(const Trace& trace, const Options& options) {
  const std::vector<double> distances = distances_per_load(trace);
  const SplitTest test = test_best_split(distances, Cost::l2, options.seed);
  Finding finding;
  finding.method = "geometric_ks";
  finding.p_value = test.calibrated_p_value;
  for (const Row& row : trace.rows) {
    finding.samples += row.values.size();
  }
  const std::size_t before = test.split.first_after;
  const std::size_t count = distances.size();
  const double first_control = trace.rows.front().control;
  const double last_control = trace.rows.back().control;
  if (test.ks <= ks_critical_value(options.level, before, count - before)) {
    finding.verdict = Verdict::lower_bound;
    finding.value = last_control;
    finding.low = first_control;
    finding.high = HUGE_VAL;
    finding.confidence = finding.p_value;
    finding.reason = "the Kolmogorov-Smirnov test finds no change of the geometric distance within the sweep";
    return finding;
  }
  const SegmentCost cost(distances, Cost::l2);
  const double mean_before = cost.mean(0, before);
  const double mean_after = cost.mean(before, count);
  if (mean_after < mean_before) {
    return inconclusive("latencies fall where they change most, which a cache can't cause", finding.method);
  }
  finding.verdict = Verdict::value;
  finding.value = trace.rows[before - 1].control;
  finding.confidence = 1 - finding.p_value;
  // Splits that cost no more than the best one plus chi-squared's 95 % point, at the variance the best one leaves.
  const double allowed = test.split.cost + 3.84 * test.split.cost / static_cast<double>(count);
  finding.low = finding.value;
  finding.high = finding.value;
  for (std::size_t i = 1; i < count; ++i) {
    if (cost(0, i) + cost(i, count) <= allowed) {
      finding.low = std::min(finding.low, trace.rows[i - 1].control);
      finding.high = std::max(finding.high, trace.rows[i - 1].control);
    }
  }
  return finding;
}

}  // namespace gputopo::change_point
