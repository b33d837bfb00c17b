#include <algorithm>
#include <cmath>
#include <vector>

#include "change_point/trace_check.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/posterior.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "evidence/traces/traces.hpp"
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
constexpr double as_good = 1.0 / 3;         // of the probability: about as likely as all else

double log_likelihood(const Observation& row, double share, double stray) {
  return level_log_likelihood({}, row.weight, row.sum, std::clamp(share, stray_share, 1 - stray));
}

// What a miss brings in: so many bytes, or these and as many behind them, as a prefetcher of the next line does.
struct Brought {
  double granularity = 0;
  bool next_as_well = false;

  // Strides from here on miss with all loads.
  double whole() const { return next_as_well ? 2 * granularity : granularity; }
  // Of the loads, on a walk with that stride. One that skips some granules, but not always one, finds the next one
  // there after a miss, if it goes there, and never after a hit.
  double share(double stride) const {
    const double granules = stride / granularity;
    if (next_as_well && granules > 1) return granules < 2 ? 1 / (3 - granules) : 1;
    return std::min(1.0, stride / whole());
  }
};

// Where `all` of the loads that should miss do.
double deviance(const std::vector<Observation>& rows, const Brought& brought, double all, double stray) {
  double total = 0;
  for (const Observation& row : rows) {
    const double best = block_log_likelihood({}, row.weight, row.sum);
    const double share = all * brought.share(row.control);
    total += std::min(largest_deviance, 2 * (best - log_likelihood(row, share, stray)));
  }
  return total;
}

// Nearly all do, or as many as of the strides that should all miss: those that something brought in before hit. As any
// share would do as well, one in so many loads and one more does.
double deviance(const std::vector<Observation>& rows, const Brought& brought) {
  double weight = 0, sum = 0;
  for (const Observation& row : rows)
    if (row.control >= brought.whole()) weight += row.weight, sum += row.sum;
  const double known = deviance(rows, brought, 1, stray_share);
  return weight == 0 ? known : std::min(known, deviance(rows, brought, sum / weight, 0) + 2 * std::log(weight + 1));
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
    total += std::min(largest_deviance, 2 * (best - log_likelihood(row, sum / weight, stray_share)));
  }
  return total;
}

// What is held against the misses: the shortest stride, where all loads miss, what lies between, the longest and,
// past `inside`, more than that.
struct Candidates {
  std::vector<double> bytes;
  std::size_t inside = 0;
};

Candidates granularities_of(const std::vector<Row>& rows) {
  std::vector<double> strides;
  for (const Row& row : rows) strides.push_back(row.control);
  const double longest = strides.back();
  Candidates c{possible_spacings(strides, strides.front(), std::nextafter(longest, HUGE_VAL)), 0};
  c.bytes.insert(c.bytes.begin(), strides.front());
  c.inside = c.bytes.size();
  for (const double factor : {1.25, 1.5, 2.0, 3.0, 4.0, 8.0}) c.bytes.push_back(factor * longest);
  const auto more = possible_spacings({}, longest, 16 * longest);
  c.bytes.insert(c.bytes.end(), more.begin(), more.end());
  return c;
}

struct Fit {
  std::vector<double> deviances;  // by candidate
  std::vector<double> with_next;  // of those below the longest stride, where the next one is brought in as well
  double one_share = 0;           // deviance
  std::size_t best = 0;
  std::size_t groups = 0;  // what the deviances are sums over
  bool is_inside = false;  // the best one is no bound
  // And explains the misses if nothing was there before: not only where a share of them is seen.
  bool saturates = false;

  double acceptable() const { return acceptable_deviance * static_cast<double>(groups); }
};

Fit fit(const std::vector<Observation>& rows, const Candidates& candidates) {
  Fit result;
  const std::vector<Observation> groups = pooled(rows);
  result.groups = groups.size();
  result.one_share = deviance_of_one_share(groups);
  for (const double bytes : candidates.bytes) {
    stop::look();
    result.deviances.push_back(deviance(groups, {bytes}));
    if (bytes < candidates.bytes[candidates.inside - 1]) result.with_next.push_back(deviance(groups, {bytes, true}));
  }
  result.best = static_cast<std::size_t>(std::min_element(result.deviances.begin(), result.deviances.end()) -
                                         result.deviances.begin());
  result.is_inside = result.best > 0 && result.best < candidates.inside;
  result.saturates =
      result.is_inside && deviance(groups, {candidates.bytes[result.best]}, 1, stray_share) <= result.acceptable();
  return result;
}

// The probability that misses bring in the next granule as well, against `fit`'s granularities of as many bytes each,
// and the interval of 95 % of these granules.
struct WithNext {
  double probability = 0;
  Interval granules{HUGE_VAL, 0};
};

double log_weight(double deviance, double bytes, const Candidates& candidates) {
  return -0.5 * deviance + (bytes == candidates.bytes.front() ? 0 : log_prior_of_spacing(bytes));
}

WithNext with_next(const Fit& fit, const Candidates& candidates) {
  std::vector<double> all;
  for (std::size_t i = 0; i < fit.with_next.size(); ++i)
    all.push_back(log_weight(fit.with_next[i], candidates.bytes[i], candidates));
  const std::size_t rivals = all.size();
  for (std::size_t i = 0; i < candidates.inside; ++i)
    all.push_back(log_weight(fit.deviances[i], candidates.bytes[i], candidates));
  const auto beyond = fit.deviances.begin() + static_cast<std::ptrdiff_t>(candidates.inside);
  all.push_back(-0.5 * *std::min_element(beyond, fit.deviances.end()));
  all = probabilities(std::move(all));
  Posterior p;
  p.values.assign(candidates.bytes.begin(), candidates.bytes.begin() + static_cast<std::ptrdiff_t>(rivals));
  p.probability.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rivals));
  if (rivals == 0) return {};
  p.take_likeliest();
  return {p.inside(), p.credible(1 - most_outside)};
}

// At most twice these granules, and no less than what may be brought in alone.
Estimate bound_of(const WithNext& next, const Posterior& alone, double confidence, std::uint64_t samples) {
  const bool may_be_alone = (1 - next.probability) * alone.inside() > most_outside;
  const double most = std::max(2 * next.granules.high, may_be_alone ? alone.credible(1 - most_outside).high : 0);
  Estimate e = measured(most, "B", trace_granularity_method, samples);
  e.status = Status::upper_bound;
  e.confidence = confidence;
  e.note =
      "as much is missed if each miss brings in half of it and the next half ahead: the granularity is at most that";
  return e;
}

Estimate estimate_of(const Fit& fit, const Candidates& candidates, std::uint64_t samples) {
  const auto last = static_cast<std::ptrdiff_t>(candidates.inside);
  std::vector<double> all;
  for (std::size_t i = 0; i < candidates.inside; ++i)
    all.push_back(log_weight(fit.deviances[i], candidates.bytes[i], candidates));
  all.push_back(-0.5 * *std::min_element(fit.deviances.begin() + last, fit.deviances.end()));  // one hypothesis
  all = probabilities(std::move(all));
  Posterior p;
  p.values.assign(candidates.bytes.begin() + 1, candidates.bytes.begin() + last);
  p.probability.assign(all.begin() + 1, all.end() - 1);
  p.at_most = all.front();
  p.at_least = all.back();
  p.least = candidates.bytes.front();
  p.most = candidates.bytes[candidates.inside - 1];
  const WithNext next = with_next(fit, candidates);
  const double larger = (1 - next.probability) * p.at_least;
  if (larger > most_outside && (larger <= better_part || next.probability > as_good))
    return inconclusive("B", trace_granularity_method,
                        "too few loads to tell whether the granularity is larger than the strides", samples);
  if (!p.values.empty()) p.take_likeliest();
  if (next.probability > as_good) return bound_of(next, p, 1 - larger, samples);
  Estimate e = evidence::estimate_of(p, trace_granularity_method, samples,
                                     {"all loads miss at the shortest stride already: the granularity is at most that",
                                      "loads still hit at the longest stride: the granularity is larger",
                                      "several granularities explain the misses about as well"});
  if (e.status != Status::measured) return e;
  e.confidence = (1 - next.probability) * *e.confidence;
  if (next.probability > most_outside) e.interval->low = std::min(e.interval->low, next.granules.low);
  return e;
}

}  // namespace

Estimate find_fetch_granularity(const Trace& trace) {
  const Trace rows = tidied(trace);
  if (const std::string reason = why_unusable(rows, 2); !reason.empty())
    return inconclusive("B", trace_granularity_method, reason, rows.loads());
  const Candidates candidates = granularities_of(rows.rows);
  std::vector<Fit> fits;
  double least_of_all = HUGE_VAL;
  bool saturates = false;
  for (const Separation& candidate : separations(rows)) {
    fits.push_back(fit(candidate.rows, candidates));
    const Fit& last = fits.back();
    if (last.is_inside) least_of_all = std::min(least_of_all, last.deviances[last.best]);
    saturates = saturates || last.saturates;
  }
  for (const Fit& result : fits) {
    const double least = result.deviances[result.best];
    if (least <= result.acceptable() && least <= least_of_all + comparable_deviance && least < result.one_share &&
        (result.is_inside || !saturates))
      return estimate_of(result, candidates, rows.loads());
  }
  return inconclusive("B", trace_granularity_method, "no level of latency is missed in proportion to the stride",
                      rows.loads());
}

}  // namespace gputopo::evidence
