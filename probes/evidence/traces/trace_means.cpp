#include "evidence/traces/trace_means.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "change_point/disturbed.hpp"
#include "change_point/latency_histogram.hpp"
#include "change_point/reduction.hpp"
#include "change_point/robust.hpp"
#include "change_point/significance.hpp"
#include "change_point/split_test.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/traces/base_trend.hpp"
#include "evidence/traces/trace_laps.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

constexpr std::string_view by_means = "mean_isotonic";

constexpr double least_rise_share = 0.03;  // of the level before, as of `least_rise_cycles`

constexpr double significant = 0.05;

// Parameters of a curve through so many rows: of the third degree, or less where these would hardly say otherwise.
std::size_t of_curve(std::size_t rows) {
  return std::clamp<std::size_t>(rows / 2, 1, 4);
}

// The variance of one value: within rows where they have several values, and at least what neighbouring rows differ by,
// but for a few steps. A steady rise inflates first differences, a step in a short sweep second ones: the smaller of
// the two counts.
double variance_of(const std::vector<Observation>& rows, double squares_within, double loads) {
  constexpr double clock_quantum = 0.25;  // of an average between two counts of the clock
  std::vector<double> first;
  std::vector<double> second;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const double scale = 1 / rows[i - 1].weight + 1 / rows[i].weight;
    const double difference = rows[i].level() - rows[i - 1].level();
    first.push_back(difference * difference / scale);
    if (i < 2) continue;
    const double bend = rows[i].level() - 2 * rows[i - 1].level() + rows[i - 2].level();
    const double bend_scale = scale + 3 / rows[i - 1].weight + 1 / rows[i - 2].weight;
    second.push_back(bend * bend / bend_scale);
  }
  const double of_first = mean_of_most(first);
  const double between = second.empty() ? of_first : std::min(of_first, mean_of_most(second));
  const double count = static_cast<double>(rows.size());
  const double within = loads > count ? std::max(0.0, squares_within) / (loads - count) : 0;
  return std::max({within, between, clock_quantum});
}

// What rows rise by from one to the next (weighted least squares).
struct Slope {
  double rise = 0;
  double spread = 0;   // of the rows' places, squared and weighted
  double squares = 0;  // of what they lie beside it, weighted
};

Slope slope_of(std::span<const Observation> rows) {
  double weights = 0, at = 0, sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    weights += rows[i].weight, at += rows[i].weight * static_cast<double>(i), sum += rows[i].sum;
  Slope slope;
  double products = 0, about_level = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double apart = static_cast<double>(i) - at / weights, above = rows[i].level() - sum / weights;
    slope.spread += rows[i].weight * apart * apart;
    products += rows[i].weight * apart * above;
    about_level += rows[i].weight * above * above;
  }
  slope.rise = products / slope.spread;
  slope.squares = std::max(0.0, about_level - slope.rise * products);
  return slope;
}

// Could the rise have begun before the first row? Yes, if it is spread over several rows, and those before it may rise
// as steeply as as many behind them do (Student's t; of few loads their own scatter tells little).
bool rises_from_the_start(const std::vector<Observation>& rows, std::size_t fit, double base,
                          const RisingLevels& rising, double variance_of_load) {
  constexpr double by_chance = 0.025;
  const double onset = rising.fitted()[fit] - base;
  if (onset >= 0.5 * (rising.top() - base)) return false;
  double loads = 0;
  for (std::size_t i = 0; i < fit; ++i) loads += rows[i].weight;
  if (fit == 1 || loads < 3) return true;  // of two nothing is left that says how they scatter
  const std::size_t behind = std::min(std::max<std::size_t>(fit, 3), rows.size() - (fit - 1));
  const Slope before = slope_of(std::span(rows).first(fit)), then = slope_of(std::span(rows).subspan(fit - 1, behind));
  const double own = fit == 2 ? 0 : before.squares / (static_cast<double>(fit) - 2);
  const double error = std::sqrt(std::max(variance_of_load, own) * (1 / before.spread + 1 / then.spread));
  return then.rise - before.rise < error * boost::math::quantile(boost::math::students_t(loads - 2), 1 - by_chance);
}

// What rows lack to a smooth curve through all of them, a polynomial of the third degree at most, as of a clock or a
// temperature that drifts.
std::vector<double> beside_a_curve(const std::vector<Observation>& rows) {
  std::vector<double> beside;
  for (const Observation& row : rows) beside.push_back(row.level());
  std::vector<std::vector<double>> basis;
  const auto along = [&](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) sum += rows[i].weight * a[i] * b[i];
    return sum;
  };
  const auto take_away = [&](std::vector<double>& from, const std::vector<double>& one) {
    const double much = along(from, one) / along(one, one);
    for (std::size_t i = 0; i < rows.size(); ++i) from[i] -= much * one[i];
  };
  for (std::size_t degree = 0; degree < of_curve(rows.size()); ++degree) {
    std::vector<double> next;
    for (std::size_t i = 0; i < rows.size(); ++i)
      next.push_back(std::pow(2 * (static_cast<double>(i) + 0.5) / static_cast<double>(rows.size()) - 1,
                              static_cast<double>(degree)));
    for (const auto& one : basis) take_away(next, one);
    basis.push_back(std::move(next));
    take_away(beside, basis.back());
  }
  return beside;
}

// Whether that curve explains rows as well as levels that rise from somewhere on, by Akaike's criterion: each level is
// a parameter. Or a rise of several cycles but for the clock's whole ones, which all loads of a row have in common.
bool is_drift(const std::vector<Observation>& rows, const RisingLevels& rising, double variance) {
  constexpr double whole_cycles = 0.75, several = 3;
  const std::vector<double> levels = rising.fitted(), beside = beside_a_curve(rows);
  double by_curve = 0, by_levels = 0;
  bool is_rounded = levels.back() - levels.front() >= several;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    by_levels += rows[i].weight * std::pow(rows[i].level() - levels[i], 2);
    by_curve += rows[i].weight * std::pow(beside[i], 2);
    is_rounded = is_rounded && std::fabs(beside[i]) < whole_cycles;
  }
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < rows.size(); i = rising.block(i).end) ++blocks;
  return is_rounded || (by_curve - by_levels) / (2 * variance) <=
                           static_cast<double>(blocks) - static_cast<double>(of_curve(rows.size()));
}

double least_rise(double base) {
  return std::max(least_rise_cycles, least_rise_share * base);
}

// Whether even the slowest loads lie no level beyond the first rows: then all of them became a little slower. Averages
// are of loads that nobody sees.
bool is_below_a_level(const Trace& trace, const MeanCurve& curve, double base) {
  return trace.loads() > trace.rows.size() &&
         curve.slowest - base < std::max(least_rise_cycles, least_level_share * base);
}

// What the first `count` rows take on average.
double base_of(const std::vector<Observation>& rows, std::size_t count) {
  double sum = 0, loads = 0;
  for (std::size_t i = 0; i < count; ++i) sum += rows[i].sum, loads += rows[i].weight;
  return sum / loads;
}

// That the best of so many rows gains that much.
double chance_of_rise(const MeanCurve& curve, const RisingLevels& rising) {
  const double gain = gain_of_rising(curve.rows, rising, curve.sweep.levels);
  return chi_squared_tail(2 * gain) * static_cast<double>(curve.rows.size());
}
bool rises_by_chance(const MeanCurve& curve, const RisingLevels& rising) {
  return chance_of_rise(curve, rising) > significant;
}

// Rows that fit needn't be alike: a clock that drifts, or laps that nobody divided by their loads, raise all of them.
// Where the rows behind the size go on as those before it do, the change may lie behind any of them.
Estimate with_trend(Estimate size, const std::vector<Observation>& rows, std::size_t fit) {
  const std::size_t end = size.status == Status::measured ? rows_on_trend(rows, fit) : fit;
  if (end == fit) return size;
  size.interval->high = std::max(size.interval->high, rows[end - 1].control);
  size.confidence = std::min(*size.confidence, 1 / static_cast<double>(end - fit + 1));
  size.note = "rows before the change rise steadily: it may lie as far as they do";
  return size;
}

// How many rows fit, but for a rise that rows' noise may hide: of little more than fits the pigeonhole alone says how
// much misses at least, each miss by as much as levels differ at least. The first ones that rows speak for more than
// for no rise at all: without that rise they lie nearer to one level (least squares). Time grows with the rows.
std::size_t rows_before_a_hidden_rise(const MeanCurve& curve, double line_bytes) {
  constexpr double rounding = 1e-9;  // cycles a load
  const std::vector<Observation>& rows = curve.rows;
  // Of the rows from one on: loads, what they lie above the mean of all, and both by the footprint.
  struct Behind {
    double loads = 0, by_byte = 0, by_bytes_squared = 0, above = 0, above_by_byte = 0;
  };
  const double mean = base_of(rows, rows.size());
  std::vector<Behind> behind(rows.size() + 1);
  for (std::size_t i = rows.size(); i-- > 0;) {
    const double weight = rows[i].weight, bytes = rows[i].control, above = weight * (rows[i].level() - mean);
    const Behind& b = behind[i + 1];
    behind[i] = {b.loads + weight, b.by_byte + weight / bytes, b.by_bytes_squared + weight / bytes / bytes,
                 b.above + above, b.above_by_byte + above / bytes};
  }
  const double loads = behind.front().loads;
  double before = 0;
  for (std::size_t fit = 1; fit < rows.size(); ++fit) {
    const Behind& b = behind[fit];
    before += rows[fit - 1].sum;
    const double miss = least_rise(before / (loads - b.loads));
    const double capacity = std::max(rows[fit - 1].control, rows[fit].control - line_bytes);
    const double misses = b.loads - capacity * b.by_byte;
    const double squares = b.loads - 2 * capacity * b.by_byte + capacity * capacity * b.by_bytes_squared;
    const double along = b.above - capacity * b.above_by_byte;
    if (2 * along > miss * (squares - misses * misses / loads) + rounding * loads) return fit;
  }
  return rows.size();
}

// Nothing changes: what a smaller cache would have missed is the evidence for a bound.
Estimate without_misses(const Trace& trace, const MeanCurve& curve) {
  std::vector<Observation> rows;
  for (const Row& row : trace.rows) rows.push_back({row.control, static_cast<double>(row.values.size()), 0});
  Sweep sweep = sweep_of(trace, rows, HUGE_VAL);
  sweep.saturation = 1;
  Estimate e = capacity_estimate(capacity_posterior(rows, sweep), by_means);
  if (e.status != Status::lower_bound) return e;
  const double surely = curve.rows[rows_before_a_hidden_rise(curve, sweep.line_bytes) - 1].control;
  constexpr std::string_view none = "nothing changes within the sweep: if its loads hit, ";
  const bool is_all = *e.value >= rows.back().control, may_rise = surely < *e.value;
  e.value = std::min(*e.value, surely);
  e.note = fmt::format("{}{}", none,
                       may_rise ? "so much fits; the rows behind are slower, by no more than rows differ"
                       : is_all ? "the capacity lies at or above its end"
                                : "so much fits; of the rows behind there are too few loads to be sure");
  return e;
}

}  // namespace

MeanCurve mean_curve(const Trace& trace) {
  const double clip = change_point::quantile(latency_histogram(trace, 4096), 0.995);
  MeanCurve curve;
  curve.slowest = clip;
  double within = 0;
  double loads = 0;
  for (const Row& row : trace.rows) {
    stop::look();
    Observation observation{row.control, static_cast<double>(row.values.size()), 0};
    double squares = 0;
    for (const double value : row.values) {
      const double clipped = std::min(value, clip);
      observation.sum += clipped;
      squares += clipped * clipped;
    }
    within += squares - observation.sum * observation.sum / observation.weight;
    loads += observation.weight;
    curve.rows.push_back(observation);
  }
  curve.sweep.whole_laps = false;
  curve.sweep.saturation = -1;
  curve.sweep.foreign = true;
  // Of few loads all may read the same, wherever between two ticks they are.
  const double of_tick = std::pow(tick_of(trace), 2) / 12;
  curve.sweep.levels = {LevelModel::Kind::gaussian, std::max(of_tick, variance_of(curve.rows, within, loads))};
  curve.rows = without_disturbed(curve.rows, curve.sweep.levels);
  return curve;
}

double chance_of_means(const Trace& trace) {
  const MeanCurve curve = mean_curve(trace);
  return chance_of_rise(curve, RisingLevels(curve.rows, curve.sweep.levels));
}

bool do_means_drift(const Trace& trace) {
  const MeanCurve curve = mean_curve(trace);
  const RisingLevels rising(curve.rows, curve.sweep.levels);
  return !rises_by_chance(curve, rising) && is_drift(curve.rows, rising, curve.sweep.levels.variance);
}

bool do_means_rise_by_a_level(const Trace& trace) {
  constexpr double deviations = 2;
  const MeanCurve curve = mean_curve(trace);
  const RisingLevels rising(curve.rows, curve.sweep.levels);
  const Block& first = rising.block(0);
  Block last = first;
  for (std::size_t i = first.end; i < curve.rows.size(); i = last.end) last = rising.block(i);
  const double error = std::sqrt(curve.sweep.levels.variance * (1 / first.weight + 1 / last.weight));
  return last.level() - first.level() + deviations * error >= least_rise(first.level());
}

std::optional<MeanRise> rise_of_means(const Trace& trace) {
  MeanCurve curve = mean_curve(trace);
  const RisingLevels rising(curve.rows, curve.sweep.levels);
  curve.sweep.first_fits = true;
  const CapacityPosterior posterior = capacity_posterior(curve.rows, curve.sweep);
  const std::size_t last = posterior.best();
  const double base = base_of(curve.rows, last + 1);
  if (posterior.probability.back() > better_part || rising.top() - base < least_rise(base) ||
      rises_by_chance(curve, rising))
    return std::nullopt;
  return MeanRise{posterior.credible(0.95).low, curve.rows.back().level() - curve.rows.front().level(),
                  is_drift(curve.rows, rising, curve.sweep.levels.variance)};
}

Estimate size_by_means(const Trace& trace) {
  constexpr std::size_t fewest_rows = 5;  // of one load each: fewer don't tell their noise from a change
  MeanCurve curve = mean_curve(trace);
  const RisingLevels rising(curve.rows, curve.sweep.levels);
  curve.sweep.first_fits = true;
  CapacityPosterior posterior = capacity_posterior(curve.rows, curve.sweep);
  posterior.slack = 1;  // a parameter's worth (AIC): means rise by their noise
  const std::size_t fit = posterior.best() + 1;
  const double base = base_of(curve.rows, fit);
  if (rising.top() - base < least_rise(base) || is_below_a_level(trace, curve, base)) {
    constexpr double less_than_a_level = 0.5;  // of what levels differ by: a few misses of a level that is near
    const bool is_large = rising.top() - base >= less_than_a_level * least_rise(base);
    return (is_large || !is_below_a_level(trace, curve, base)) && !rises_by_chance(curve, rising)
               ? inconclusive("B", by_means, "latencies rise with size, but by less than levels of memory differ")
               : without_misses(trace, curve);
  }
  if (trace.loads() == trace.rows.size() && trace.rows.size() < fewest_rows)
    return inconclusive("B", by_means, "too few rows of one load each to tell a change from noise");
  if (rises_by_chance(curve, rising)) return inconclusive("B", by_means, "rows differ by chance as much as they rise");
  if (posterior.probability.back() > better_part) return without_misses(trace, curve);
  if (rises_from_the_start(curve.rows, fit, base, rising, curve.sweep.levels.variance)) {
    return inconclusive("B", by_means, "too few rows lie before the rise to tell whether they fit");
  } else if (is_drift(curve.rows, rising, curve.sweep.levels.variance) ||
             dispersion(curve.rows, rising.fitted(), curve.sweep.levels, 1) > most_scatter) {
    return inconclusive("B", by_means, drifts);
  } else if (fit == 1 && curve.rows.front().weight < 2) {
    return inconclusive("B", by_means, "before the change lies one load, whose noise nothing tells");
  }
  return with_trend(capacity_estimate(posterior, by_means), curve.rows, fit);
}

Estimate first_large_rise(const Trace& trace, const TraceOptions& options) {
  constexpr std::string_view method = "geometric_rise";
  constexpr std::size_t fewest_alike = 3;
  constexpr double level = 0.05;
  const std::vector<double> distances = distances_per_load(trace);
  if (distances.size() < 4)
    return inconclusive("B", method, "rows differ more than their loads explain and there are too few of them");
  // Sampling error of a rise between two rows, from the scatter within rows (delta method on the root mean square).
  std::vector<double> variances;
  for (const Row& row : trace.rows) {
    double mean = 0;
    double squares = 0;
    for (const double value : row.values) {
      const double square = (value - 1) * (value - 1);
      mean += square;
      squares += square * square;
    }
    const double loads = static_cast<double>(row.values.size());
    mean /= loads;
    const double variance_of_square = std::max(0.0, squares / loads - mean * mean);
    variances.push_back(variance_of_square / loads / std::max(1e-12, 4 * mean));
  }
  const double error = std::sqrt(2 * change_point::median(variances));
  double largest = 0;
  for (std::size_t i = 1; i < distances.size(); ++i) largest = std::max(largest, distances[i] - distances[i - 1]);
  const SplitTest trend = test_best_split(distances, Cost::rank, options.seed);
  if (largest <= 3 * error || trend.calibrated_p_value > level)
    return inconclusive("B", method, "rows differ more than their loads explain and no rise stands out");
  std::vector<double> lowest = distances;
  const auto tenth = lowest.begin() + static_cast<std::ptrdiff_t>(lowest.size() / 10);
  std::nth_element(lowest.begin(), tenth, lowest.end());
  std::vector<std::size_t> rises;
  bool is_two_state = true;
  for (std::size_t i = 1; i < distances.size(); ++i) {
    if (distances[i] - distances[i - 1] < largest - 2 * error) continue;
    rises.push_back(i - 1);
    is_two_state = is_two_state && distances[i - 1] <= *tenth;
  }
  if (rises.size() < fewest_alike || !is_two_state)
    return inconclusive("B", method, "rows differ more than their loads explain and no step of one height recurs");
  Estimate e = measured(trace.rows[rises.front()].control, "B", method, trace.loads());
  e.interval = Interval{trace.rows.front().control, trace.rows[rises.back()].control};
  e.confidence = (1 - trend.calibrated_p_value) / static_cast<double>(rises.size());
  e.note = "rows scatter more than their loads explain, so the onset is the first of the largest rises";
  return e;
}

}  // namespace gputopo::evidence
