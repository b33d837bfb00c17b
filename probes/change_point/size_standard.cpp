#include <algorithm>
#include <cmath>

#include "change_point/interval.hpp"
#include "change_point/significance.hpp"
#include "change_point/size_methods.hpp"
#include "change_point/trace_check.hpp"

namespace gputopo::change_point {
namespace {

// Misses that a fitting footprint may show: isolated slow loads, and the line or two that something else takes.
constexpr double tolerated_share = 0.02;
constexpr double tolerated_misses = 2.5;  // a row

struct Evidence {
  std::span<const Observation> rows;
  const OnsetProfile& profile;
  LevelModel model;
  CapacityLaw law;
};

double base_level(const Evidence& evidence) {
  double weight = 0;
  double sum = 0;
  for (std::size_t i = 0; i <= evidence.profile.last_before; ++i) {
    weight += evidence.rows[i].weight;
    sum += evidence.rows[i].sum;
  }
  return sum / weight;
}

// Could the footprint of the very first row be too large already? Then misses grow from the first row on, by at least
// what the lower bound 1 - C/s asks for; a level that stays constant for long enough says otherwise.
bool misses_from_the_start(const Evidence& evidence) {
  const double base = base_level(evidence);
  const Observation& first = evidence.rows.front();
  const bool tolerable = base <= tolerated_share || base * first.weight <= tolerated_misses;
  if (tolerable) {
    return false;
  }
  constexpr std::size_t shortest_plateau = 5;
  if (evidence.profile.last_before + 1 < shortest_plateau) {
    return true;
  }
  const double top = std::max(evidence.profile.top_level, 1e-9);
  const double first_level = std::min(evidence.profile.fitted.front(), top);
  const double capacity = first.control * (1 - first_level / top);
  double growing = 0;
  for (std::size_t i = 0; i < evidence.rows.size(); ++i) {
    const Observation& row = evidence.rows[i];
    const double bound = top * (1 - capacity / row.control);
    const double level = std::max(evidence.profile.fitted[i], std::min(bound, 1 - 1e-9));
    growing += level_log_likelihood(evidence.model, row.weight, row.sum, level);
  }
  return growing >= evidence.profile.highest - 2;
}

// Rows past the first that miss far less than it: no cache that the first row overflows could do that.
bool is_contradicted_later(const Evidence& evidence) {
  const Observation& first = evidence.rows.front();
  const double share = first.sum / first.weight;
  for (const Observation& row : evidence.rows) {
    const double expected = share * row.weight;
    const double deviation = std::sqrt(expected * (1 - share) * (1 + row.weight / first.weight));
    if (row.sum < expected - 5 * deviation) {
      return true;
    }
  }
  return false;
}

Finding located(const Evidence& evidence, const Options& options, double p_value, std::string method) {
  const OnsetProfile& profile = evidence.profile;
  const auto base_rows = evidence.rows.first(profile.last_before + 1);
  const std::vector<double> base(base_rows.size(), base_level(evidence));
  const double scale = std::min(dispersion(base_rows, base, evidence.model, 1), 10.0);
  const RowRange likely = likelihood_ratio_set(profile, scale);
  const Resampled resampled = bootstrap(evidence.rows, profile, evidence.model, evidence.law, options.seed);
  Finding finding;
  finding.verdict = Verdict::value;
  finding.value = evidence.rows[profile.last_before].control;
  finding.low = evidence.rows[std::min(likely.first, resampled.range.first)].control;
  finding.high = evidence.rows[std::max(likely.last, resampled.range.last)].control;
  finding.p_value = p_value;
  finding.confidence = std::max(0.0, resampled.agreement / std::sqrt(scale) - p_value);
  finding.method = std::move(method);
  return finding;
}

}  // namespace

Finding find_size_standard(const Trace& trace, const Options& options) {
  std::uint64_t samples = 0;
  for (const Row& row : trace.rows) {
    samples += row.values.size();
  }
  const auto finish = [samples](Finding finding) {
    finding.samples = samples;
    return finding;
  };

  const std::vector<Separation> candidates = separations(trace);
  if (candidates.empty()) {
    const MeanCurve curve = mean_curve(trace);
    const Evidence evidence{curve.rows, curve.profile, curve.model, {}};
    const Candidate candidate{curve.rows, &curve.profile, curve.model};
    const double p_value = onset_p_value(std::span(&candidate, 1), options.seed);
    const double base = base_level(evidence);
    const double rise = curve.profile.top_level - base;
    if (p_value > options.level || rise < std::max(1.0, 0.005 * base)) {
      return finish(no_change(trace, nullptr, p_value));
    }
    return finish(located(evidence, options, p_value, "mean_isotonic"));
  }

  std::vector<Candidate> tested;
  const Separation* strongest = &candidates.front();
  for (const Separation& candidate : candidates) {
    tested.push_back({candidate.rows, &candidate.profile, {}});
    if (candidate.profile.statistic() > strongest->profile.statistic()) {
      strongest = &candidate;
    }
  }
  const double p_value = onset_p_value(tested, options.seed);
  const auto chosen = capacity_separation(candidates, options.level);
  if (!chosen || p_value > options.level) {
    return finish(no_change(trace, strongest, p_value));
  }
  const Separation separation = without_outliers(trace, candidates, *chosen, options.level);
  const Evidence evidence{separation.rows, separation.profile, {}, separation.law};
  if (misses_from_the_start(evidence)) {
    if (is_contradicted_later(evidence)) {
      return finish(first_large_rise(trace, options));
    }
    Finding finding;
    finding.verdict = Verdict::upper_bound;
    finding.value = trace.rows.front().control;
    finding.high = finding.value;
    finding.p_value = p_value;
    finding.confidence = 1 - p_value;
    finding.method = "binomial_isotonic";
    finding.reason = "the first row already misses and misses only grow: the sweep begins above the change";
    return finish(finding);
  }
  return finish(located(evidence, options, p_value, "binomial_isotonic"));
}

}  // namespace gputopo::change_point
