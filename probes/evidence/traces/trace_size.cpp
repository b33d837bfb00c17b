#include <algorithm>
#include <cmath>

#include "change_point/isotonic.hpp"
#include "change_point/significance.hpp"
#include "change_point/trace_check.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/traces/lap_tick.hpp"
#include "evidence/traces/trace_fast_laps.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "evidence/traces/trace_means.hpp"
#include "evidence/traces/trace_nested.hpp"
#include "evidence/traces/trace_parts.hpp"
#include "evidence/traces/trace_repeats.hpp"
#include "evidence/traces/trace_tails.hpp"
#include "evidence/traces/trace_time.hpp"
#include "evidence/traces/trace_together.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

constexpr std::string_view trace_size_method = "binomial_isotonic";

constexpr double doubtful = 0.05;
constexpr std::size_t shortest_level = 5;  // rows

// Where every row that fits has this many misses, a level of its own and no accident, levels that only rise gain on one
// level by following their scatter: within half of chi-squared's 95 % point both are alike.
constexpr double noisy_misses = 8;
constexpr double slack_of_noise = 1.92;

// The rows that fit, if that of the posterior's best row do.
std::span<const Observation> fitting_rows(const Separation& s) {
  return std::span(s.rows).first(s.posterior.best() + 1);
}

// How much more rows differ among themselves than their loads explain, about levels that only rise (fixed misses that
// begin at some size).
double scatter_about_rising_levels(std::span<const Observation> rows) {
  return rows.size() < 2 ? 1 : dispersion(rows, RisingLevels(rows, {}).fitted(), {}, 1);
}

// What widens everything, within bounds.
double scatter_of_fitting(std::span<const Observation> rows) {
  return std::min(10.0, scatter_about_one_level(rows));
}

// Rows past the first that miss far less than it: no cache that the first row overflows could do that.
bool is_contradicted_later(std::span<const Observation> rows) {
  const Observation& first = rows.front();
  const double share = first.level();
  return std::any_of(rows.begin(), rows.end(), [&](const Observation& row) {
    const double expected = share * row.weight;
    return row.sum < expected - 5 * std::sqrt(expected * (1 - share) * (1 + row.weight / first.weight));
  });
}

// The largest footprint that is beyond doubt to fit.
Estimate at_least(const CapacityPosterior& posterior) {
  double below = posterior.none_fits;
  std::size_t row = 0;
  while (below + posterior.probability[row] <= doubtful) below += posterior.probability[row++];
  Estimate e = measured(posterior.footprints_bytes[row], "B", trace_size_method, posterior.loads);
  e.status = Status::lower_bound;
  e.confidence = 1 - below;
  e.note = "slow loads beyond it are too few for a size and too many for luck";
  return e;
}

// A size is told where all else is excluded: with few loads a row, rows that fit and rows that don't look alike.
Estimate size_of(const CapacityPosterior& posterior) {
  const Estimate e = capacity_estimate(posterior, trace_size_method);
  const double none = posterior.none_fits;
  if (e.status == Status::upper_bound && none >= 1 - doubtful) return e;
  if (e.status != Status::measured && e.status != Status::upper_bound) return e;
  if (none + posterior.probability.back() <= doubtful) return e;
  if (none <= doubtful) return at_least(posterior);
  return inconclusive("B", trace_size_method, "there are too few loads to tell whether the smallest footprint fits");
}

// Whether the last of these rows miss more than their first level and the line or two of others explain.
bool end_beyond_others_lines(std::span<const Observation> rows, double first_level) {
  constexpr double deviations = 4;
  double expected = 0, seen = 0;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    expected += first_level * row->weight + tolerated_misses, seen += row->sum;
    if (seen - expected > deviations * std::sqrt(expected)) return true;
  }
  return false;
}

// Misses that begin long before a cache whose misses begin there would miss so few: it goes on filling, in sets that
// fill unevenly, or brings in what nobody asked for. How much it holds then isn't where they begin, nor where as many
// are missed as of a full one.
std::optional<Estimate> fills_unevenly(const Separation& s) {
  if (s.posterior.none_fits > better_part || s.posterior.probability.back() > better_part) return std::nullopt;
  // A few may be others' lines, and levels that only rise follow the scatter of what fits as well.
  constexpr double beyond_doubt = 1e-4;
  const std::span fitting = fitting_rows(s);
  const RisingLevels rising(fitting, {});
  if (!end_beyond_others_lines(fitting, rising.block(0).level())) return std::nullopt;
  const double gain = gain_of_rising(fitting, rising, {});
  if (chi_squared_tail(2 * gain) * static_cast<double>(fitting.size()) > beyond_doubt) return std::nullopt;
  Sweep of_any_law = s.sweep;
  of_any_law.saturation = 0;
  of_any_law.scatter = 1;
  const std::size_t about = capacity_posterior(s.rows, of_any_law).best();
  of_any_law.scatter = scatter_of_fitting(std::span(s.rows).first(about + 1));
  const CapacityPosterior begins = capacity_posterior(s.rows, of_any_law);
  const double least = s.posterior.credible(0.95).low;
  double as_late = 0;
  for (std::size_t i = 0; i < begins.probability.size(); ++i)
    if (begins.footprints_bytes[i] >= least) as_late += begins.probability[i];
  if (as_late > doubtful || begins.none_fits > doubtful) return std::nullopt;
  Estimate e = at_least(begins);
  e.note = "so much fits; of more ever more is missing, but less than of a full cache: sets that fill unevenly";
  return e;
}

// No boundary is crossed by more loads the larger the footprint.
Estimate without_change(const Separation& strongest) {
  constexpr double most_scatter_of_all = 5;
  if (scatter_about_one_level(strongest.rows) > most_scatter_of_all)
    return inconclusive("B", trace_size_method, "misses vary from row to row but don't rise with size");
  Sweep any_level = strongest.sweep;
  any_level.contamination.loads = 0;
  const CapacityPosterior posterior = capacity_posterior(strongest.rows, any_level);
  Estimate e = capacity_estimate(posterior, trace_size_method);
  if (e.status == Status::measured || e.status == Status::upper_bound) {
    if (!is_clean(std::span(strongest.rows).first(posterior.best() + 1)))
      return inconclusive("B", trace_size_method, "slow loads are many at every size, and rise by no more than chance");
    return posterior.none_fits > doubtful
               ? inconclusive("B", trace_size_method, "too few loads are slow to tell a size")
               : at_least(posterior);
  }
  if (e.status == Status::lower_bound)
    e.note = level_of(strongest.rows) > 0.05
                 ? "a constant share of loads is slow at every size: if the others hit, the capacity lies at or above "
                   "its end"
                 : "nothing changes within the sweep: if its loads hit, the capacity lies at or above its end";
  return e;
}

// Whether a level of several rows comes before more of them miss: a level of hits as well as one of misses.
bool begins_with_a_level(std::span<const Observation> rows) {
  const std::size_t end = RisingLevels(rows, {}).block(0).end;
  return end >= shortest_level && end < rows.size();
}

// Whether a level of several rows may come before more of them miss: a level of hits as well as one of misses, as far
// as the law tells where nobody knows how many hits are slow.
bool may_begin_with_a_level(const Separation& s) {
  Sweep of_any_hits = s.sweep;
  of_any_hits.contamination.loads = 0;
  const CapacityPosterior posterior = capacity_posterior(s.rows, of_any_hits);
  double begins = 0;
  for (std::size_t i = shortest_level - 1; i + 1 < posterior.probability.size(); ++i)
    begins += posterior.probability[i];
  return begins > doubtful * (begins + posterior.none_fits);
}

// Rows that overflow all, or hits that were as slow from the start: where no two levels are seen in rows, the boundary
// may cut one in two.
bool is_of_hits_as_well(const Trace& trace, const Separation& s) {
  return begins_with_a_level(s.rows) ||
         (!hold_two_levels(trace, s.boundary.threshold_cycles) && may_begin_with_a_level(s));
}

// Hits that become slower before other loads miss: averages over laps, of which ever more miss. Then the size lies
// anywhere from there on. Where all loads of a row become slower together, that they cross the boundary is a drift's
// doing, or an average's: their means say the rest.
Estimate with_slow_hits(const Trace& trace, std::span<const Separation> candidates, const Separation& s,
                        Estimate size) {
  const std::size_t last = s.posterior.none_fits > better_part ? 0 : s.posterior.best();
  const Trace about = size.has_value() ? about_change(trace, candidates, s, last) : Trace{};
  // As many slow loads as a level may have move means by no more.
  const double change = s.boundary.upper_mean - s.boundary.lower_mean, moved_by_few = tolerated_share * change;
  if (size.has_value() && do_loads_move_together(rows_from(about, last), moved_by_few)) {
    const Estimate by_means = size_by_means({rows_from(about, 0)});
    const bool are_alike = size.status == Status::measured && by_means.status == Status::measured &&
                           by_means.interval->low <= *size.value && *size.value <= by_means.interval->high;
    return are_alike ? size : by_means;
  }
  const bool is_about_change = size.status == Status::measured || size.status == Status::upper_bound;
  if (is_about_change && !hold_two_levels(trace, s.boundary.threshold_cycles)) {
    if (do_means_drift(trace)) return inconclusive("B", trace_size_method, drifts);
    if (!do_means_rise_by_a_level(without_farther(trace, candidates, s)))
      return inconclusive("B", trace_size_method, "latencies rise with size, but by less than levels of memory differ");
  }
  if (size.status != Status::measured) return size;
  if (do_slow_loads_trail_off(trace, last + 1, s.boundary.threshold_cycles))
    return inconclusive("B", trace_size_method,
                        "slow loads become rarer from the hits on: what delays any load, and no level of memory");
  const Trace hits = hits_of(trace, s, *size.value);
  const auto rise = hits.rows.size() < 2 ? std::nullopt : rise_of_means(hits);
  if (!rise) return size;
  if (rise->is_drift) {
    const bool is_all = 2 * rise->cycles > change;
    return is_all ? inconclusive("B", trace_size_method, drifts) : size;
  }
  size.interval->low = std::min(size.interval->low, rise->from);
  size.note = "loads that hit become slower before others miss, as averages of both do";
  return size;
}

// Whether slow loads are those of lines that are farther away. Where a first row has none, what begins behind it may as
// well be a cache's end that keeps what came first.
bool are_those_of_far_lines(const Trace& trace, const Separation& s) {
  return s.posterior.none_fits > better_part &&
         (are_slow_loads_nested(s.rows) || do_slow_loads_keep_their_places(trace, s.boundary.threshold_cycles));
}

// The separation that capacity misses show in, of those that no clock or temperature makes, nor lines that are farther
// away: these are removed, and why.
struct Chosen {
  std::optional<std::size_t> separation;
  std::string_view why_others_not;  // empty: none was removed
};

Chosen chosen_of(const Trace& trace, std::vector<Separation>& candidates, const TraceOptions& options,
                 bool is_in_order_of_time) {
  Chosen chosen{capacity_separation(candidates), {}};
  while (chosen.separation && is_in_order_of_time) {
    const double threshold = candidates[*chosen.separation].boundary.threshold_cycles;
    if (do_misses_follow_time(trace, threshold, options.seed))
      chosen.why_others_not = "loads become slower while a row is recorded, and go on so in the next";
    else if (are_those_of_far_lines(trace, candidates[*chosen.separation]))
      chosen.why_others_not = "the same lines are slow in every footprint: they are farther away";
    else
      break;
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(*chosen.separation));
    chosen.separation = capacity_separation(candidates);
  }
  return chosen;
}

// The probability below which rows' means rise beyond doubt: levels nearer than loads scatter have no boundary.
constexpr double means_by_chance = 1e-4;

// By means, where loads don't fall into levels: what makes some of a row slower for a while made the rows differ, too.
Estimate by_steady_means(const Trace& trace, const TraceOptions& options, bool is_in_order_of_time) {
  const Estimate size = size_by_means(trace);
  const bool is_about_change = size.status == Status::measured || size.status == Status::upper_bound;
  constexpr double any = 0;
  return is_about_change && is_in_order_of_time && do_loads_drift(trace.rows, any, options.seed)
             ? inconclusive("B", size.method, drifts)
             : size;
}

// A bound below, `least`. That hardly any load crosses one boundary says nothing of levels on one side of it.
Estimate unless_hits_rise(const Trace& trace, const Separation& s, const Estimate& least, const TraceOptions& options,
                          bool is_in_order_of_time) {
  const Trace hits = hits_of(trace, s, trace.rows.back().control);
  if (hits.rows.size() < 2 || chance_of_means(hits) >= means_by_chance) return least;
  const Estimate by_means = by_steady_means(hits, options, is_in_order_of_time);
  return by_means.status != Status::lower_bound
             ? by_means
             : inconclusive("B", trace_size_method, "latencies rise with size, but don't fall into levels");
}

Estimate find_by_separations(const Trace& trace, std::vector<Separation>& candidates, const TraceOptions& options,
                             bool is_in_order_of_time) {
  const auto [chosen, why_others_not] = chosen_of(trace, candidates, options, is_in_order_of_time);
  const Estimate by_others = inconclusive("B", trace_size_method, why_others_not);
  if (!chosen && !why_others_not.empty()) return by_others;
  if (!chosen) {
    constexpr double by_chance = 0.05;
    const double chance = chance_of_means(trace);
    if (chance < means_by_chance) return by_steady_means(trace, options, is_in_order_of_time);
    if (chance < by_chance) return inconclusive("B", trace_size_method, "latencies rise with size, but may by chance");
    const auto strongest = std::ranges::max_element(candidates, {}, &Separation::gain);
    const Estimate size = without_change(*strongest);
    return size.status == Status::lower_bound ? unless_hits_rise(trace, *strongest, size, options, is_in_order_of_time)
                                              : size;
  }
  Separation s = without_outliers(trace, candidates, *chosen);
  if (s.posterior.none_fits > 0.5 && is_contradicted_later(s.rows)) return first_large_rise(trace, options);
  if (s.posterior.none_fits <= 0.5 && !is_clean(fitting_rows(s)) &&
      scatter_about_rising_levels(fitting_rows(s)) > most_scatter)
    return first_large_rise(trace, options);
  s.sweep.scatter = scatter_of_fitting(fitting_rows(s));
  const double misses_a_row = level_of(fitting_rows(s)) * s.rows.front().weight;
  s.posterior = capacity_posterior(s.rows, s.sweep);
  if (misses_a_row >= noisy_misses) s.posterior.slack = slack_of_noise;
  if (const auto least = fills_unevenly(s)) return *least;
  const Estimate size = size_of(s.posterior);
  // Of loads that became slower with time, or by where they are, nobody knows whether they hit.
  if (size.status == Status::lower_bound && !why_others_not.empty()) return by_others;
  if (size.status == Status::lower_bound)
    if (const Estimate e = unless_hits_rise(trace, s, size, options, is_in_order_of_time); e.status != size.status)
      return e;
  if (size.status == Status::upper_bound && is_of_hits_as_well(trace, s))
    return inconclusive(
        "B", trace_size_method,
        "as many loads are slow in the first rows, and more from there on: of which level hits are isn't known");
  const bool is_measured = size.status == Status::measured;
  const std::span before = std::span(trace.rows).first(is_measured ? s.posterior.best() + 1 : trace.rows.size());
  // Beyond the change loads of two levels take their turns as a footprint's lines do; of one nothing but time makes
  // some slower for a while.
  const double change = s.boundary.upper_mean - s.boundary.lower_mean;
  const auto do_all_drift = [&] {
    return !hold_two_levels(trace, s.boundary.threshold_cycles) && do_loads_drift(trace.rows, change, options.seed);
  };
  if (is_in_order_of_time && (is_measured || size.status == Status::upper_bound) &&
      (do_loads_drift(before, change, options.seed) || do_all_drift()))
    return inconclusive("B", trace_size_method, drifts);
  return with_slow_hits(trace, candidates, s, size);
}

Estimate find_by_counts(const Trace& trace, const LatencyCounts& counted, const TraceOptions& options,
                        bool is_in_order_of_time) {
  std::vector<Separation> candidates =
      trace.loads() == trace.rows.size() ? std::vector<Separation>{} : separations(trace, counted);
  if (candidates.empty()) return by_steady_means(trace, options, is_in_order_of_time);
  const bool none_may_fit = may_miss_from_the_start(candidates);
  const std::optional<Trace> rest = without_interrupted(trace, candidates);
  const Estimate size = find_by_separations(rest ? *rest : trace, candidates, options, is_in_order_of_time);
  return size.status == Status::lower_bound && none_may_fit
             ? inconclusive("B", trace_size_method,
                            "as many loads are slow at every size as begin a line: none of them may fit, or all")
             : size;
}

}  // namespace

Estimate find_size(const Trace& trace, const TraceOptions& options) {
  if (options.method == TraceOptions::Method::thesis) return find_size_by_thesis(trace, options);
  const bool usable_as_is = is_tidy(trace);
  const Trace tidy = usable_as_is ? Trace{} : tidied(trace);
  const Trace& rows = usable_as_is ? trace : tidy;
  // Checked and counted row by row: a trace larger than the processor's caches is read once less.
  LatencyCounts counted;
  std::string reason = too_few_rows(rows, 2);
  for (std::size_t i = 0; reason.empty() && i < rows.rows.size(); ++i) {
    reason = why_unusable(rows.rows[i]);
    if (reason.empty()) counted.add(rows.rows[i].values);
  }
  Estimate e = reason.empty() ? find_by_counts(rows, counted, options, usable_as_is)
                              : inconclusive("B", trace_size_method, reason);
  if (auto by_fast_laps = size_by_fast_laps(rows, e)) e = std::move(*by_fast_laps);
  const bool is_about_change = e.status == Status::measured || e.status == Status::upper_bound;
  if (is_about_change && !usable_as_is && do_repeats_differ_as_sizes_do(trace))
    e = inconclusive("B", trace_size_method,
                     "rows of one size differ by as much as sizes do: something else changed while they were recorded");
  const double fits = e.status == Status::measured ? *e.value : 0;
  if ((e.status == Status::measured || e.status == Status::upper_bound) && is_within_a_tick_of_laps(rows, fits))
    e = inconclusive("B", trace_size_method,
                     "rows differ by no more than a tick of the clock that their laps were timed with");
  e.samples = rows.loads();
  return e;
}

}  // namespace gputopo::evidence
