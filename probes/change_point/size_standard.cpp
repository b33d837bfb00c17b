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

// Misses before the onset that differ from row to row by more than this times what their number explains are no level.
constexpr double most_scatter = 3;

// A clock that counts whole cycles and a drift of its frequency shift means by less than this; no level of memory does.
constexpr double least_rise_cycles = 2;
constexpr double least_rise_share = 0.03;

// Rows of one level that say that it is a level.
constexpr std::size_t shortest_plateau = 5;

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

bool base_is_clean(const Evidence& evidence) {
  const double base = base_level(evidence);
  return base <= tolerated_share || base * evidence.rows.front().weight <= tolerated_misses;
}

// How much more the rows up to the onset differ among themselves than their loads explain.
double base_dispersion(const Evidence& evidence) {
  const auto rows = evidence.rows.first(evidence.profile.last_before + 1);
  const std::vector<double> level(rows.size(), base_level(evidence));
  return dispersion(rows, level, evidence.model, 1);
}

// Do the rows up to the onset differ by more than their number of loads and levels that only rise (fixed misses that
// begin at some size) explain?
bool base_scatters(const Evidence& evidence) {
  const std::size_t count = evidence.profile.last_before + 1;
  const auto rows = evidence.rows.first(count);
  return count >= 2 && dispersion(rows, onset_profile(rows, evidence.model).fitted, evidence.model, 1) > most_scatter;
}

// Could the footprint of the very first row be too large already? Then misses grow from the first row on, by at least
// what the lower bound 1 - C/s asks for; a level that stays constant for long enough says otherwise.
bool misses_from_the_start(const Evidence& evidence) {
  if (base_is_clean(evidence)) {
    return false;
  }
  const Observation& first = evidence.rows.front();
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

// A footprint that is a line too large misses at least once in each lap: a first row of whole laps without any fits.
bool first_row_fits(const Evidence& evidence) {
  const Observation& first = evidence.rows.front();
  return evidence.law.whole_laps && evidence.law.missing_loads == 0 && first.sum == 0 && first.unclear == 0;
}

// The share of belief that remains for the estimate beside the likeliest later row before which misses are fixed ones.
double later_doubt(const OnsetProfile& profile) {
  double rival = OnsetProfile::impossible;
  for (std::size_t i = profile.last_before + 1; i < profile.with_fixed_misses.size(); ++i) {
    rival = std::max(rival, profile.with_fixed_misses[i]);
  }
  return 1 / (1 + std::exp(std::min(0.0, rival - profile.highest)));
}

Finding located(const Evidence& evidence, const Options& options, double p_value, std::string method) {
  const OnsetProfile& profile = evidence.profile;
  const double scale = std::min(base_dispersion(evidence), 10.0);
  const RowRange likely = likelihood_ratio_set(profile, scale);
  const Resampled resampled = bootstrap(evidence.rows, profile, evidence.model, evidence.law, options.seed);
  Finding finding;
  finding.verdict = Verdict::value;
  finding.value = evidence.rows[profile.last_before].control;
  finding.low = evidence.rows[std::min(likely.first, resampled.range.first)].control;
  finding.high = evidence.rows[std::max(likely.last, resampled.range.last)].control;
  finding.p_value = p_value;
  finding.confidence = std::max(0.0, resampled.agreement * later_doubt(profile) / std::sqrt(scale) - p_value);
  finding.method = std::move(method);
  return finding;
}

Finding upper_bound(const Trace& trace, double p_value, std::string method) {
  Finding finding;
  finding.verdict = Verdict::upper_bound;
  finding.value = trace.rows.front().control;
  finding.high = finding.value;
  finding.p_value = p_value;
  finding.confidence = 1 - p_value;
  finding.method = std::move(method);
  finding.reason = "the first row already misses and misses only grow: the sweep begins above the change";
  return finding;
}

// Could the rise have begun before the first row? Yes, if few rows lie before it, it is spread over several, and those
// rows differ by as much as it sets in with.
bool rises_from_the_start(const MeanCurve& curve, double base) {
  const OnsetProfile& profile = curve.profile;
  const std::size_t count = profile.last_before + 1;
  const double onset = profile.fitted[count] - base;
  if (count >= shortest_plateau || onset >= 0.5 * (profile.top_level - base)) {
    return false;
  }
  double lowest = HUGE_VAL;
  double highest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double mean = curve.rows[i].sum / curve.rows[i].weight;
    lowest = std::min(lowest, mean);
    highest = std::max(highest, mean);
  }
  return count == 1 || highest - lowest > 0.25 * onset;
}

// Rows whose loads don't fall into levels, or that hold one average each: the row means are all there is.
Finding by_means(const Trace& trace, const Options& options) {
  const std::string method = "mean_isotonic";
  const MeanCurve curve = mean_curve(trace);
  const Evidence evidence{curve.rows, curve.profile, curve.model, {}};
  const Candidate candidate{curve.rows, &curve.profile, curve.model};
  const double p_value = onset_p_value(std::span(&candidate, 1), options.seed);
  const double base = base_level(evidence);
  const double rise = curve.profile.top_level - base;
  if (p_value > options.level || rise < std::max(least_rise_cycles, least_rise_share * base)) {
    return no_change(trace, nullptr, p_value);
  }
  if (rises_from_the_start(curve, base)) {
    if (curve.profile.last_before == 0) {
      return upper_bound(trace, p_value, method);
    }
    Finding undecided = inconclusive("too few rows lie before the rise to tell whether they fit", method);
    undecided.p_value = p_value;
    return undecided;
  }
  return located(evidence, options, p_value, method);
}

}  // namespace

Finding find_size_standard(const Trace& trace, const LatencyCounts& counted, const Options& options) {
  std::uint64_t samples = 0;
  for (const Row& row : trace.rows) {
    samples += row.values.size();
  }
  const auto finish = [samples](Finding finding) {
    finding.samples = samples;
    return finding;
  };

  if (samples == trace.rows.size()) {
    return finish(by_means(trace, options));
  }
  const std::vector<Separation> candidates = separations(trace, counted);
  if (candidates.empty()) {
    return finish(by_means(trace, options));
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
    if (first_row_fits(evidence)) {
      Finding undecided = inconclusive("the first row fits, but what misses later grows too slowly for a capacity",
                                       "binomial_isotonic");
      undecided.p_value = p_value;
      return finish(undecided);
    }
    return finish(upper_bound(trace, p_value, "binomial_isotonic"));
  }
  if (!base_is_clean(evidence) && base_scatters(evidence)) {
    return finish(first_large_rise(trace, options));
  }
  return finish(located(evidence, options, p_value, "binomial_isotonic"));
}

}  // namespace gputopo::change_point
