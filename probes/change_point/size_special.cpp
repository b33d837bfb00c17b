#include <algorithm>
#include <cmath>

#include "change_point/latency_histogram.hpp"
#include "change_point/reduction.hpp"
#include "change_point/robust.hpp"
#include "change_point/significance.hpp"
#include "change_point/size_methods.hpp"
#include "change_point/split_test.hpp"
#include "change_point/trace_check.hpp"
#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

constexpr std::string_view rise_method = "geometric_rise";
constexpr std::size_t fewest_alike = 3;
constexpr double doubtful = 1e-3;

}  // namespace

MeanCurve mean_curve(const Trace& trace) {
  const double clip = quantile(latency_histogram(trace, 4096), 0.995);
  MeanCurve curve;
  curve.model.kind = LevelModel::Kind::gaussian;
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
  // The variance of one value: within rows where they have several values, and at least what neighbouring rows differ
  // by (median of squared differences over chi-squared's median), which a few steps can't move. A steady rise inflates
  // first differences, a step in a short sweep second ones: the smaller of the two counts.
  constexpr double median_of_chi_squared = 0.4549;
  const auto mean = [&](std::size_t i) { return curve.rows[i].sum / curve.rows[i].weight; };
  std::vector<double> first;
  std::vector<double> second;
  for (std::size_t i = 1; i < curve.rows.size(); ++i) {
    const double scale = 1 / curve.rows[i - 1].weight + 1 / curve.rows[i].weight;
    const double difference = mean(i) - mean(i - 1);
    first.push_back(difference * difference / scale / median_of_chi_squared);
    if (i >= 2) {
      const double bend = mean(i) - 2 * mean(i - 1) + mean(i - 2);
      const double bend_scale = scale + 3 / curve.rows[i - 1].weight + 1 / curve.rows[i - 2].weight;
      second.push_back(bend * bend / bend_scale / median_of_chi_squared);
    }
  }
  const double between = second.empty() ? median(first) : std::min(median(first), median(second));
  const double rows = static_cast<double>(curve.rows.size());
  const double variance_within = loads > rows ? std::max(0.0, within) / (loads - rows) : 0;
  const double clock_quantum = 0.25;  // of an average between two counts of the clock
  curve.model.variance = std::max({variance_within, between, clock_quantum});
  curve.profile = onset_profile(curve.rows, curve.model);
  return curve;
}

Finding first_large_rise(const Trace& trace, const Options& options) {
  const std::vector<double> distances = distances_per_load(trace);
  const std::string method(rise_method);
  if (distances.size() < 4) {
    return inconclusive("rows differ more than their loads explain and there are too few of them", method);
  }
  // Sampling error of a rise between two rows, from the scatter within rows (delta method on the root mean square).
  std::vector<double> variances;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    double mean = 0;
    double squares = 0;
    const auto& values = trace.rows[i].values;
    for (const double value : values) {
      const double square = (value - 1) * (value - 1);
      mean += square;
      squares += square * square;
    }
    const double loads = static_cast<double>(values.size());
    mean /= loads;
    const double variance_of_square = std::max(0.0, squares / loads - mean * mean);
    variances.push_back(variance_of_square / loads / std::max(1e-12, 4 * mean));
  }
  const double error = std::sqrt(2 * median(variances));
  double largest = 0;
  for (std::size_t i = 1; i < distances.size(); ++i) {
    largest = std::max(largest, distances[i] - distances[i - 1]);
  }
  const SplitTest trend = test_best_split(distances, Cost::rank, options.seed);
  if (largest <= 3 * error || trend.calibrated_p_value > options.level) {
    return inconclusive("rows differ more than their loads explain and no rise stands out", method);
  }
  std::vector<double> lowest = distances;
  const auto tenth = lowest.begin() + static_cast<std::ptrdiff_t>(lowest.size() / 10);
  std::nth_element(lowest.begin(), tenth, lowest.end());
  std::vector<std::size_t> rises;
  bool is_two_state = true;
  for (std::size_t i = 1; i < distances.size(); ++i) {
    if (distances[i] - distances[i - 1] >= largest - 2 * error) {
      rises.push_back(i - 1);
      is_two_state = is_two_state && distances[i - 1] <= *tenth;
    }
  }
  if (rises.size() < fewest_alike || !is_two_state) {
    return inconclusive("rows differ more than their loads explain and no step of one height recurs", method);
  }
  Finding finding;
  finding.verdict = Verdict::value;
  finding.value = trace.rows[rises.front()].control;
  finding.low = trace.rows.front().control;
  finding.high = trace.rows[rises.back()].control;
  finding.p_value = trend.calibrated_p_value;
  finding.confidence = (1 - finding.p_value) / static_cast<double>(rises.size());
  finding.method = method;
  finding.reason = "rows scatter more than their loads explain, so the onset is the first of the largest rises";
  return finding;
}

Finding no_change(const Trace& trace, const Separation* strongest, double p_value) {
  Finding finding;
  finding.method = strongest == nullptr ? "mean_isotonic" : "binomial_isotonic";
  finding.p_value = p_value;
  double share = 0;
  if (strongest != nullptr) {
    double loads = 0;
    for (const Observation& row : strongest->rows) {
      share += row.sum;
      loads += row.weight;
    }
    share /= loads;
    const std::vector<double> level(strongest->rows.size(), share);
    if (dispersion(strongest->rows, level, {}, 1) > 5) {
      Finding undecided = inconclusive("misses vary from row to row but don't rise with size", finding.method);
      undecided.p_value = p_value;
      return undecided;
    }
  }
  // Slow loads that the last rows alone show are too few for a size and too many for a bound that ends behind them.
  std::size_t rows = trace.rows.size();
  if (strongest != nullptr && chi_squared_tail(strongest->profile.statistic()) < doubtful) {
    rows = strongest->profile.last_before + 1;
  }
  // A cache of c bytes would have missed at least the sum of n (1 - c / s) loads; three or more can't hide (e^-3 < 5
  // %).
  double weight_beyond = 0;
  double weight_by_control = 0;
  finding.low = trace.rows.front().control;
  for (std::size_t i = rows; i-- > 0;) {
    const double control = trace.rows[i].control;
    if (weight_beyond - control * weight_by_control >= 3) {
      finding.low = control;
      break;
    }
    const double loads = static_cast<double>(trace.rows[i].values.size());
    weight_beyond += loads;
    weight_by_control += loads / control;
  }
  const double middle = trace.rows[rows / 2].control;
  double expected = 0;
  for (std::size_t i = rows / 2 + 1; i < rows; ++i) {
    expected += static_cast<double>(trace.rows[i].values.size()) * (1 - middle / trace.rows[i].control);
  }
  finding.verdict = Verdict::lower_bound;
  finding.value = trace.rows[rows - 1].control;
  finding.high = HUGE_VAL;
  finding.confidence = (1 - std::exp(-expected)) * (1 - share);
  finding.reason = share > 0.05 ? "a constant share of loads is slow at every size: no change within the sweep"
                                : "nothing changes within the sweep: the capacity lies at or above its end";
  return finding;
}

}  // namespace gputopo::change_point
