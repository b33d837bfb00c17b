#include "evidence/traces/trace_repeats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "change_point/latency_histogram.hpp"
#include "change_point/robust.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

struct RowMean {
  double value = 0, variance = 0;  // its own
};

RowMean mean_of_row(const std::vector<double>& values, double slowest) {
  double sum = 0, squares = 0;
  for (const double x : values) sum += std::min(x, slowest);
  const auto n = static_cast<double>(values.size());
  for (const double x : values) squares += std::pow(std::min(x, slowest) - sum / n, 2);
  return {sum / n, squares / std::max(1.0, n - 1) / n};
}

}  // namespace

bool do_repeats_differ_as_sizes_do(const change_point::Trace& trace) {
  constexpr double deviations = 4, nearly_all = 0.995;
  std::map<double, std::vector<const change_point::Row*>> by_size;
  for (const change_point::Row& row : trace.rows) {
    stop::look();
    if (!row.values.empty() && !std::isnan(row.control)) by_size[row.control].push_back(&row);
  }
  if (by_size.size() == trace.rows.size()) return false;
  const double slowest = change_point::quantile(change_point::latency_histogram(trace, 4096), nearly_all);
  double apart = 0, least = std::numeric_limits<double>::max(), most = 0;
  for (const auto& [size, rows] : by_size) {
    RowMean low{std::numeric_limits<double>::max(), 0}, high{0, 0};
    double sum = 0, loads = 0;
    for (const change_point::Row* row : rows) {
      const RowMean mean = mean_of_row(row->values, slowest);
      if (mean.value < low.value) low = mean;
      if (mean.value >= high.value) high = mean;
      const auto n = static_cast<double>(row->values.size());
      sum += mean.value * n, loads += n;
    }
    least = std::min(least, sum / loads), most = std::max(most, sum / loads);
    if (high.value - low.value > deviations * std::sqrt(low.variance + high.variance))
      apart = std::max(apart, high.value - low.value);
  }
  return apart > 0 && apart >= most - least;
}

}  // namespace gputopo::evidence
