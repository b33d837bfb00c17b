#include <algorithm>
#include <cmath>
#include <vector>

#include "change_point/trace_check.hpp"
#include "evidence/estimates.hpp"
#include "evidence/posterior.hpp"
#include "evidence/trace_levels.hpp"
#include "evidence/traces.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

constexpr const char* trace_granularity_method = "cold_miss_rate";
constexpr double stray_share = 0.01;        // hits where all should miss
constexpr double largest_deviance = 12;     // of one stride
constexpr double comparable_deviance = 20;  // between two levels that both behave so
constexpr double acceptable_deviance = 6;   // mean over what it is summed over
constexpr double most_outside = 0.05;       // of the probability, for an interval of 95 %

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

// The same for one share at all strides, which has nothing to do with what a miss brings in. Nothing of it where all
// miss, as they do from one stride on.
double deviance_of_one_share(const std::vector<Observation>& rows) {
  double weight = 0, sum = 0;
  for (const Observation& row : rows) weight += row.weight, sum += row.sum;
  if (sum >= (1 - 2 * stray_share) * weight) return HUGE_VAL;
  double total = 0;
  for (const Observation& row : rows) {
    const double best = block_log_likelihood({}, row.weight, row.sum);
    total += std::min(largest_deviance, 2 * (best - log_likelihood(row, sum / weight)));
  }
  return total;
}

struct Fit {
  std::vector<double> deviances;  // by stride, then one for 'longer than the longest'
  double one_share = 0;           // deviance
  std::size_t best = 0;
  std::size_t groups = 0;  // what the deviances are sums over
};

Fit fit(const std::vector<Observation>& rows) {
  Fit result;
  const std::vector<Observation> groups = pooled(rows);
  result.groups = groups.size();
  result.one_share = deviance_of_one_share(groups);
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

// One of the strides, or more than the longest: hits at the longest stride are what tells.
Estimate estimate_of(const Fit& fit, const std::vector<Row>& strides, std::uint64_t samples) {
  Posterior p;
  for (const Row& row : strides) p.values.push_back(row.control);
  for (const double deviance : fit.deviances) p.probability.push_back(-0.5 * deviance);
  p.probability = probabilities(std::move(p.probability));
  p.at_least = p.probability.back();
  p.at_most = p.probability.front();
  p.most = p.values.back();
  p.least = p.values.front();
  p.probability.pop_back();
  if (p.at_least <= better_part && p.at_least > most_outside)
    return inconclusive("B", trace_granularity_method,
                        "too few loads to tell whether the granularity is larger than the strides", samples);
  p.best = std::min(fit.best, p.values.size() - 1);
  return evidence::estimate_of(p, trace_granularity_method, samples,
                               {"all loads miss at the shortest stride already: the granularity is at most that",
                                "loads still hit at the longest stride: the granularity is larger",
                                "several granularities explain the misses about as well"});
}

}  // namespace

Estimate find_fetch_granularity(const Trace& trace) {
  const Trace rows = tidied(trace);
  if (const std::string reason = why_unusable(rows, 2); !reason.empty())
    return inconclusive("B", trace_granularity_method, reason, rows.loads());
  const std::size_t strides = rows.rows.size();
  std::vector<Fit> fits;
  double least_of_all = HUGE_VAL;
  for (const Separation& candidate : separations(rows)) {
    fits.push_back(fit(candidate.rows));
    const Fit& last = fits.back();
    if (last.best < strides) least_of_all = std::min(least_of_all, last.deviances[last.best]);
  }
  for (const Fit& result : fits) {
    const double least = result.deviances[result.best];
    const double acceptable = acceptable_deviance * static_cast<double>(result.groups);
    const bool saturates_elsewhere = least_of_all <= acceptable;
    if (least <= acceptable && least <= least_of_all + comparable_deviance && least < result.one_share &&
        (result.best < strides || !saturates_elsewhere))
      return estimate_of(result, rows.rows, rows.loads());
  }
  return inconclusive("B", trace_granularity_method, "no level of latency is missed in proportion to the stride",
                      rows.loads());
}

}  // namespace gputopo::evidence
