#include "change_point/fetch_granularity.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "change_point/separation.hpp"
#include "change_point/trace_check.hpp"
#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

constexpr const char* method = "cold_miss_rate";
constexpr double stray_share = 0.01;        // hits where all should miss
constexpr double largest_deviance = 12;     // of one stride
constexpr double comparable_deviance = 20;  // between two levels that both behave so
constexpr double acceptable_deviance = 6;   // mean over what it is summed over

double log_likelihood(const Observation& row, double share) {
  return level_log_likelihood({}, row.weight, row.sum, std::clamp(share, stray_share, 1 - stray_share));
}

double deviance(const std::vector<Observation>& rows, double granularity) {
  double total = 0;
  for (const Observation& row : rows) {
    const double best = block_log_likelihood({}, row.weight, row.sum);
    total += std::min(largest_deviance, 2 * (best - log_likelihood(row, row.control / granularity)));
  }
  return total;
}

// The share of misses is linear in the stride, so neighbouring strides may be counted together: however many there are,
// each granularity is held against at most twice these. Cost: strides times rows_at_most.
constexpr std::size_t rows_at_most = 256;

std::vector<Observation> pooled(const std::vector<Observation>& rows) {
  if (rows.size() <= rows_at_most) {
    return rows;
  }
  const double step = std::log(rows.back().control / rows.front().control) / rows_at_most;
  std::vector<Observation> groups;
  double end = 0;
  for (const Observation& row : rows) {
    if (groups.empty() || row.control > end) {
      groups.push_back({0, 0, 0});
      end = row.control * std::exp(step);
    }
    Observation& group = groups.back();
    const double weight = group.weight + row.weight;
    group.control += (row.control - group.control) * row.weight / weight;
    group.weight = weight;
    group.sum += row.sum;
  }
  return groups;
}

// A share of misses that doesn't depend on the stride.
double deviance_of_constant(const std::vector<Observation>& rows) {
  double weight = 0;
  double sum = 0;
  for (const Observation& row : rows) {
    weight += row.weight;
    sum += row.sum;
  }
  double total = 0;
  for (const Observation& row : rows) {
    const double best = block_log_likelihood({}, row.weight, row.sum);
    total += std::min(largest_deviance, 2 * (best - log_likelihood(row, sum / weight)));
  }
  return total;
}

struct Fit {
  std::vector<double> deviances;  // by stride, then one for 'longer than the longest'
  std::size_t best = 0;
  std::size_t groups = 0;  // what the deviances are sums over
};

Fit fit(const std::vector<Observation>& rows) {
  Fit result;
  const std::vector<Observation> groups = pooled(rows);
  result.groups = groups.size();
  for (const Observation& row : rows) {
    stop::look();
    result.deviances.push_back(deviance(groups, row.control));
  }
  double beyond = HUGE_VAL;
  for (const double factor : {1.25, 1.5, 2.0, 3.0, 4.0, 8.0}) {
    beyond = std::min(beyond, deviance(groups, factor * rows.back().control));
  }
  result.deviances.push_back(beyond);
  result.best = static_cast<std::size_t>(std::min_element(result.deviances.begin(), result.deviances.end()) -
                                         result.deviances.begin());
  return result;
}

}  // namespace

Finding find_fetch_granularity(const Trace& trace, const Options& /*options*/) {
  const Trace rows = tidied(trace);
  if (std::string reason = why_unusable(rows, 2); !reason.empty()) {
    return inconclusive(std::move(reason), method);
  }
  std::uint64_t samples = 0;
  for (const Row& row : rows.rows) {
    samples += row.values.size();
  }
  const std::size_t strides = rows.rows.size();
  const auto candidates = separations(rows);
  std::vector<Fit> fits;
  double least_of_all = HUGE_VAL;
  for (const Separation& candidate : candidates) {
    fits.push_back(fit(candidate.rows));
    const Fit& last = fits.back();
    if (last.best < strides) {
      least_of_all = std::min(least_of_all, last.deviances[last.best]);
    }
  }
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const Fit& result = fits[c];
    const double least = result.deviances[result.best];
    const double acceptable = acceptable_deviance * static_cast<double>(result.groups);
    const bool saturates_elsewhere = least_of_all <= acceptable;
    if (least > acceptable || least > least_of_all + comparable_deviance ||
        (result.best == strides && saturates_elsewhere)) {
      continue;
    }
    double total = 0;
    for (const double value : result.deviances) {
      total += std::exp(-0.5 * (value - least));
    }
    Finding finding;
    finding.method = method;
    finding.samples = samples;
    finding.confidence = 1 / total;
    finding.p_value = std::exp(-0.5 * std::max(0.0, deviance_of_constant(pooled(candidates[c].rows)) - least));
    const std::size_t at = std::min(result.best, strides - 1);
    finding.value = rows.rows[at].control;
    finding.low = finding.value;
    finding.high = finding.value;
    for (std::size_t i = 0; i < strides; ++i) {
      if (result.deviances[i] - least <= 3.84) {
        finding.low = std::min(finding.low, rows.rows[i].control);
        finding.high = std::max(finding.high, rows.rows[i].control);
      }
    }
    if (result.best == strides) {
      finding.verdict = Verdict::lower_bound;
      finding.high = HUGE_VAL;
      finding.reason = "loads still hit at the longest stride: the granularity is larger";
    } else if (result.best == 0) {
      finding.verdict = Verdict::upper_bound;
      finding.low = 0;
      finding.reason = "all loads miss at the shortest stride already: the granularity is at most that";
    } else {
      finding.verdict = Verdict::value;
    }
    return finding;
  }
  return inconclusive("no level of latency is missed in proportion to the stride", method);
}

}  // namespace gputopo::change_point
