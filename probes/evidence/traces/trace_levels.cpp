#include "evidence/traces/trace_levels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "change_point/clock_tick.hpp"
#include "change_point/disturbed.hpp"
#include "change_point/isotonic.hpp"
#include "change_point/latency_histogram.hpp"
#include "change_point/rising_boundary.hpp"
#include "change_point/robust.hpp"
#include "change_point/significance.hpp"
#include "evidence/traces/trace_laps.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr std::size_t max_components = 6;
constexpr std::size_t max_bins = 400;
constexpr double trace_beyond_doubt = 1e-4;
constexpr double significant_rise = 0.05;

constexpr double tolerated_of_few = 0.25;  // of a row's loads: of more, those that fit and those that don't are alike

bool is_material(const Boundary& boundary, double quantum, std::size_t loads) {
  const double next_below = boundary.threshold_cycles - boundary.step;
  return boundary.step >= 2 && boundary.step >= least_level_share * next_below && boundary.step > 1.5 * quantum &&
         boundary.upper_share * static_cast<double>(loads) >= 1.5;
}

std::size_t slower_than(const Row& row, double cycles) {
  std::size_t count = 0;
  for (const double value : row.values) {
    count += static_cast<std::size_t>(value >= cycles);
  }
  return count;
}

// Misses a row for every boundary, row by row: a row is read from memory once.
std::vector<std::vector<Observation>> count_misses(const Trace& trace, std::span<const Boundary> boundaries) {
  std::vector<std::vector<Observation>> rows(boundaries.size());
  for (auto& of_boundary : rows) {
    of_boundary.reserve(trace.rows.size());
  }
  for (const Row& row : trace.rows) {
    stop::look();
    for (std::size_t i = 0; i < boundaries.size(); ++i) {
      const std::size_t misses = slower_than(row, boundaries[i].threshold_cycles);
      rows[i].push_back({row.control, static_cast<double>(row.values.size()), static_cast<double>(misses)});
    }
  }
  return rows;
}

// Rows of as many loads as they have pieces of evidence, but for those that something disturbed; which these are so
// many `pieces_a_line` tell.
std::vector<Observation> independent(std::vector<Observation> rows, std::span<const Event> events,
                                     double pieces_a_line) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double left_out = events[i].left_out_loads();
    rows[i].weight = (rows[i].weight - left_out) / events[i].loads * pieces_a_line;
    rows[i].sum = (rows[i].sum - left_out) / events[i].loads * pieces_a_line;
  }
  rows = without_disturbed(rows, {});
  for (Observation& row : rows) row.weight /= pieces_a_line, row.sum /= pieces_a_line;
  return rows;
}

// What rows rise by over levels that don't: log-likelihood, and the standard deviation of their levels.
struct Rise {
  double gain = 0;
  double deviation = 0;
};

Rise rise_of(std::span<const Observation> rows) {
  const RisingLevels rising(rows, {});
  const std::vector<double> fitted = rising.fitted();
  double weight = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    weight += rows[i].weight;
    sum += rows[i].weight * fitted[i];
    squares += rows[i].weight * fitted[i] * fitted[i];
  }
  return {gain_of_rising(rows, rising, {}), std::sqrt(std::max(0.0, squares / weight - sum / weight * (sum / weight)))};
}

// The probability that a likelihood ratio of one parameter gains that much, with Bonferroni's correction for the rows
// and boundaries it was chosen from.
double trace_chance_of(double gain, std::size_t rows, std::size_t candidates) {
  return chi_squared_tail(2 * gain) * static_cast<double>(rows * candidates);
}

bool changes_with_size(const Separation& candidate, std::size_t candidates, double level) {
  return trace_chance_of(candidate.gain, candidate.rows.size(), candidates * candidate.choices) < level;
}

// Does another boundary's count rise with size before the main one is crossed? Loads above both are the main one's, and
// past its onset loads between the two leave upwards, so only the rows up to there and the loads on this side count.
bool changes_before(const Separation& other, const Separation& main, std::size_t candidates) {
  const std::size_t count = main.posterior.best() + 1;
  if (count < 2) {
    return false;
  }
  std::vector<Observation> rows(other.rows.begin(), other.rows.begin() + static_cast<std::ptrdiff_t>(count));
  if (other.boundary.threshold_cycles < main.boundary.threshold_cycles) {
    for (std::size_t i = 0; i < count; ++i) {
      const double of_main = main.rows[i].sum * main.events[i].loads / other.events[i].loads;
      rows[i].sum = std::max(0.0, rows[i].sum - of_main);
    }
  }
  return trace_chance_of(rise_of(rows).gain, count, candidates) < trace_beyond_doubt;
}

// Where the hits of rows before means rise go on beyond the boundary, no gap between (of more than the clock's
// quantum), about as many may lie farther: as if one of so few had. Averages of hits and misses lie anywhere, but in
// other rows.
void expect_overlap(std::span<const Row> before, const Boundary& boundary, double quantum,
                    Contamination& contamination) {
  constexpr double most = 0.5;  // more would be the other level
  const double near = std::max(boundary.near, quantum);
  double below = 0, above = 0, loads = 0;
  for (const Row& row : before)
    for (const double value : row.values) {
      ++loads;
      if (std::abs(value - boundary.middle) > near) continue;
      (value < boundary.middle ? below : above) += 1;
    }
  contamination.false_miss = std::clamp(std::min(below, above) / std::max(1.0, loads), contamination.false_miss, most);
  contamination.loads = 1 / contamination.false_miss;
}

// Of the loads between two boundaries; nothing where there are none.
std::optional<double> mean_between(const Boundary& nearer, const Boundary& farther) {
  const double share = nearer.upper_share - farther.upper_share;
  if (share <= 0) return std::nullopt;
  return (nearer.upper_share * nearer.upper_mean - farther.upper_share * farther.upper_mean) / share;
}

// Whether they are a level of their own: what lies beyond the farther one makes none of them.
bool is_a_level_between(const Boundary& nearer, const Boundary& farther) {
  return mean_between(nearer, farther).value_or(0) >= (1 + least_level_share) * nearer.lower_mean;
}

// Whether they are of one level with what lies beyond both: the farther boundary cuts that in two.
bool cuts_a_level(const Boundary& farther, const Boundary& nearer) {
  return mean_between(nearer, farther).value_or(0) * (1 + least_level_share) >= farther.upper_mean;
}

void infer(Separation& separation) {
  const Rise rise = rise_of(separation.rows);
  const double gap = std::log(separation.boundary.upper_mean / std::max(separation.boundary.lower_mean, 0.5));
  separation.gain = rise.gain;
  separation.effect_of_size = gap * gap * rise.deviation;
  separation.posterior = capacity_posterior(separation.rows, separation.sweep);
}

}  // namespace

double tick_of(const Trace& trace) {
  constexpr std::size_t enough = 1 << 14;
  std::vector<double> values;
  for (const Row& row : trace.rows) {
    if (values.size() >= enough) break;
    values.insert(values.end(), row.values.begin(), row.values.end());
  }
  // Levels without noise are multiples of what they are apart, too. A tick makes loads of one level read as either of
  // two, of the smallest footprints as well.
  const std::size_t first = (trace.rows.size() + 3) / 4;
  const auto is_between_ticks = [](const Row& row) {
    return std::ranges::adjacent_find(row.values, std::ranges::not_equal_to()) != row.values.end();
  };
  if (2 * static_cast<std::size_t>(std::ranges::count_if(std::span(trace.rows).first(first), is_between_ticks)) < first)
    return 0;
  std::ranges::sort(values);
  return clock_tick(values);
}

double level_of(std::span<const Observation> rows) {
  double weight = 0;
  double sum = 0;
  for (const Observation& row : rows) weight += row.weight, sum += row.sum;
  return sum / weight;
}

double scatter_about_one_level(std::span<const Observation> rows) {
  return dispersion(rows, std::vector<double>(rows.size(), level_of(rows)), {}, 1);
}

bool is_clean(std::span<const Observation> rows) {
  const double base = level_of(rows);
  const double loads = rows.front().weight;
  return base <= tolerated_share || base * loads <= std::min(tolerated_misses, tolerated_of_few * loads);
}

bool hold_two_levels(const Trace& trace, double threshold_cycles) {
  constexpr double of_one_level = 0.75, deviations = 2;
  const std::vector<Bin> bins = latency_histogram(trace, 4096);
  const auto upper = std::ranges::find_if(bins, [&](const Bin& bin) { return bin.value >= threshold_cycles; });
  const double low = quantile(std::span(bins.begin(), upper), 0.5), high = quantile(std::span(upper, bins.end()), 0.5);
  const double quarter = (high - low) / 4, slowest = high + (high - low);  // beyond it lies something else
  const bool reads_between = 2 * quarter >= clock_quantum(bins);           // else nothing lies there at any level
  double squares_between_sides = 0, squares_of_all = 0, loads_at_both = 0, loads_between = 0;
  for (const Row& row : trace.rows) {
    stop::look();
    double count[2] = {0, 0}, sum[2] = {0, 0}, squares = 0, at_low = 0, at_high = 0;
    for (const double value : row.values) {
      const int side = value >= threshold_cycles ? 1 : 0;
      const double clipped = std::min(value, slowest);
      count[side] += 1, sum[side] += clipped, squares += clipped * clipped;
      if (value >= low && value <= high)
        (value < low + quarter ? at_low : value > high - quarter ? at_high : loads_between) += 1;
    }
    loads_at_both += std::min(at_low, at_high);
    const double n = count[0] + count[1], mean = (sum[0] + sum[1]) / n;
    squares_of_all += std::max(0.0, squares - n * mean * mean);
    if (count[0] > 0 && count[1] > 0)
      squares_between_sides += count[0] * count[1] / n * std::pow(sum[1] / count[1] - sum[0] / count[0], 2);
  }
  return squares_between_sides > of_one_level * squares_of_all ||
         (reads_between && loads_at_both - loads_between > deviations * std::sqrt(loads_at_both + loads_between));
}

namespace {

bool is_some_but_not_all(double share) {
  constexpr double some = 0.1;
  return share > some && share < 1 - some;
}

}  // namespace

std::vector<Separation> separations(const Trace& trace) {
  LatencyCounts counted;
  for (const auto& row : trace.rows) {
    counted.add(row.values);
  }
  return separations(trace, counted);
}

std::vector<Separation> separations(const Trace& trace, const LatencyCounts& counted) {
  const auto bins = counted.bins(max_bins);
  const auto components = fit_mixture(bins, max_components);
  std::size_t loads = 0;
  for (const auto& row : trace.rows) {
    loads += row.values.size();
  }
  const double quantum = std::max(clock_quantum(bins), tick_of(trace));
  std::vector<Boundary> boundaries = boundaries_of(components, bins);
  const auto rising = rising_boundary(trace, bins);
  bool is_new = false;
  if (rising) {
    const auto at =
        std::lower_bound(boundaries.begin(), boundaries.end(), rising->boundary,
                         [](const Boundary& a, const Boundary& b) { return a.threshold_cycles < b.threshold_cycles; });
    is_new = at == boundaries.end() || at->threshold_cycles != rising->boundary.threshold_cycles;
    if (is_new) boundaries.insert(at, rising->boundary);
    // Readings of one level are components of their own where a clock counts coarsely: how far levels are apart that
    // rows differ by is told by more than the two that lie about it.
    constexpr double any_clock = 0;
    if (!is_new && is_material(*at, any_clock, loads) && !is_material(*at, quantum, loads) &&
        is_material(rising->boundary, quantum, loads))
      *at = rising->boundary, is_new = true;
  }
  boundaries.erase(std::remove_if(boundaries.begin(), boundaries.end(),
                                  [&](const Boundary& boundary) { return !is_material(boundary, quantum, loads); }),
                   boundaries.end());
  const std::span rows(trace.rows);
  const std::size_t split = rising ? rising->first_after : rows.size() / 2;
  const auto before = rows.first((split + 1) / 2);
  auto counts = count_misses(trace, boundaries);
  std::vector<Separation> result;
  bool are_hits_of_two_levels = false;  // below this boundary
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    const Boundary& boundary = boundaries[i];
    Separation separation;
    separation.boundary = boundary;
    if (is_new && boundary.threshold_cycles == rising->boundary.threshold_cycles) separation.choices = bins.size();
    separation.sweep = sweep_of(trace, counts[i], boundary.threshold_cycles);
    // Lines that are near and far are so when they miss, too: near ones may lie below, and of a full cache not all that
    // must miss lie above.
    if (are_hits_of_two_levels) separation.sweep.whole_laps = false, separation.sweep.saturation = -1;
    are_hits_of_two_levels |= is_some_but_not_all(level_of(std::span(counts[i]).first(before.size())));
    expect_overlap(before, boundary, quantum, separation.sweep.contamination);
    separation.events = events(trace, counts[i], boundary.threshold_cycles, separation.sweep);
    separation.rows = independent(std::move(counts[i]), separation.events, separation.sweep.pieces_a_line);
    infer(separation);
    result.push_back(std::move(separation));
  }
  return result;
}

bool surely_changes_with_size(const Separation& separation, std::size_t candidates) {
  return changes_with_size(separation, candidates, trace_beyond_doubt);
}

std::optional<std::size_t> capacity_separation(const std::vector<Separation>& candidates, std::size_t sweeps) {
  const bool any_beyond_doubt = std::any_of(candidates.begin(), candidates.end(), [&](const Separation& candidate) {
    return changes_with_size(candidate, sweeps * candidates.size(), trace_beyond_doubt);
  });
  const auto is_significant = [&](const Separation& candidate) {
    return changes_with_size(candidate, sweeps * candidates.size(),
                             any_beyond_doubt ? trace_beyond_doubt : significant_rise);
  };
  std::optional<std::size_t> main;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (is_significant(candidates[i]) && (!main || candidates[i].effect_of_size > candidates[*main].effect_of_size)) {
      main = i;
    }
  }
  if (!main) {
    return main;
  }
  // Boundaries that explain about as much differ in a few loads between two levels: the sharper change decides, and of
  // those that are as sharp, but for a likelihood that is no better than chance, the one that fewer loads lie about.
  constexpr double by_chance = 2;
  const double as_much = 0.75 * candidates[*main].effect_of_size;
  std::vector<std::size_t> alike;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (is_significant(candidates[i]) && candidates[i].effect_of_size >= as_much) alike.push_back(i);
  // One with a gap lies between two levels; one without may cut a level in two that becomes slower as a whole.
  if (std::ranges::any_of(alike, [&](std::size_t i) { return candidates[i].has_a_gap(); }))
    std::erase_if(alike, [&](std::size_t i) { return !candidates[i].has_a_gap(); });
  std::erase_if(alike, [&, all = alike](std::size_t i) {
    return std::ranges::any_of(
        all, [&](std::size_t j) { return j < i && cuts_a_level(candidates[i].boundary, candidates[j].boundary); });
  });
  const auto gain = [&](std::size_t i) { return candidates[i].gain; };
  const double sharpest = gain(*std::ranges::max_element(alike, {}, gain));
  std::erase_if(alike, [&](std::size_t i) { return gain(i) < sharpest - by_chance; });
  main = *std::ranges::min_element(alike, {}, [&](std::size_t i) {
    return std::pair(candidates[i].sweep.contamination.false_miss, -candidates[i].gain);
  });
  if (candidates[*main].posterior.none_fits > better_part) return main;  // no onset is earlier
  // The earliest onset that has evidence of its own; of several with the same onset, the sharpest.
  const double enough = 0.1 * candidates[*main].boundary.between_variance;
  std::size_t best = *main;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t onset = candidates[i].posterior.best();
    const std::size_t earliest = candidates[best].posterior.best();
    if (i == *main || candidates[i].boundary.between_variance < enough || candidates[i].posterior.none_fits > 0.5 ||
        onset >= candidates[*main].posterior.best() ||
        (i < *main && !is_a_level_between(candidates[i].boundary, candidates[*main].boundary)) ||
        !changes_before(candidates[i], candidates[*main], candidates.size())) {
      continue;
    }
    if (onset < earliest || (onset == earliest && candidates[i].gain > candidates[best].gain)) {
      best = i;
    }
  }
  return best;
}

Separation without_outliers(const Trace& trace, const std::vector<Separation>& candidates, std::size_t chosen) {
  Separation result = candidates[chosen];
  for (std::size_t i = chosen + 1; i < candidates.size(); ++i) {
    const Boundary& above = candidates[i].boundary;
    if (trace_chance_of(candidates[i].gain, candidates[i].rows.size(), candidates.size()) < significant_rise) continue;
    const std::vector<Observation> slow = std::move(count_misses(trace, {&above, 1}).front());
    if (scatter_about_one_level(slow) > most_scatter) continue;
    result.rows = std::move(count_misses(trace, {&result.boundary, 1}).front());
    for (std::size_t r = 0; r < result.rows.size(); ++r) result.rows[r].sum -= slow[r].sum;
    result.rows = independent(std::move(result.rows), result.events, result.sweep.pieces_a_line);
    result.sweep.contamination.false_hit = std::max(result.sweep.contamination.false_hit, above.upper_share);
    infer(result);
    break;
  }
  return result;
}

std::optional<Trace> without_interrupted(const Trace& trace, std::vector<Separation>& candidates) {
  std::optional<Trace> rest;
  for (Separation& s : candidates)
    for (std::size_t i = 0; i < s.events.size(); ++i)
      for (const LoadsInARow& run : std::exchange(s.events[i].left_out, {})) {
        if (!rest) rest = trace;
        std::fill_n(rest->rows[i].values.begin() + static_cast<std::ptrdiff_t>(run.begin), run.length, NAN);
      }
  if (rest)
    for (Row& row : rest->rows) std::erase_if(row.values, [](double value) { return std::isnan(value); });
  return rest;
}

bool may_miss_from_the_start(std::span<const Separation> candidates) {
  constexpr double nearly_all = 0.8;
  return std::ranges::any_of(candidates, [](const Separation& s) {
    return goes_several_times_to_a_line(s.sweep.saturation) && s.has_a_gap() &&
           s.rows.front().level() >= nearly_all * s.sweep.saturation;
  });
}

}  // namespace gputopo::evidence
