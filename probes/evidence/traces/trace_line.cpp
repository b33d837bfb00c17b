#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "change_point/trace_check.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/posterior.hpp"
#include "evidence/traces/stride_likelihood.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "evidence/traces/traces.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

constexpr const char* trace_line_method = "stride_onset";

std::string overflows_early(double stride_bytes) {
  return "footprints that ought to fit miss already at a stride of " + std::to_string(std::llround(stride_bytes)) +
         " bytes; sweep smaller footprints, with more loads";
}

// The separation of all loads of all strides into hits and misses, by the strides' own onsets.
std::optional<StrideCurves> overflow(const std::vector<StrideSweep>& sweeps, std::string& reason) {
  // The shortest strides touch every line; the first whose sweep shows capacity misses sets the scale.
  for (const StrideSweep& reference : sweeps) {
    stop::look();
    if (!why_unusable(reference.trace, 3).empty()) {
      continue;
    }
    const auto candidates = separations(reference.trace);
    if (!capacity_separation(candidates, sweeps.size())) {
      continue;
    }
    // Shares are compared far into the rise, so the sharpest change serves best, wherever its onset, of boundaries that
    // tell loads apart.
    const auto is_worse = [](const Separation& a, const Separation& b) {
      return std::pair(a.tells_apart(), a.gain) < std::pair(b.tells_apart(), b.gain);
    };
    const Separation& separation = *std::max_element(candidates.begin(), candidates.end(), is_worse);
    const auto fitting = std::span(separation.rows).first(separation.posterior.best() + 1);
    if (!is_clean(fitting)) {
      reason = overflows_early(reference.stride_bytes);
      return std::nullopt;
    }
    StrideCurves result;
    result.capacity = separation.rows[separation.posterior.best()].control;
    for (const StrideSweep& sweep : sweeps) {
      stop::look();
      StrideCurve curve{sweep.stride_bytes, {}};
      for (const Row& row : sweep.trace.rows) {
        Observation observation{row.control, static_cast<double>(row.values.size()), 0};
        for (const double value : row.values) {
          observation.sum += static_cast<double>(value >= separation.boundary.threshold_cycles);
        }
        const double strangers = separation.sweep.contamination.false_miss * observation.weight;
        observation.sum = std::max(0.0, observation.sum - strangers);
        curve.rows.push_back(observation);
      }
      // A walk that touches every line and misses where the reference fits: the sweep begins too late for it.
      const auto beyond = std::find_if(curve.rows.begin(), curve.rows.end(),
                                       [&](const Observation& row) { return row.control > result.capacity; });
      if (sweep.stride_bytes < reference.stride_bytes && beyond != curve.rows.begin() &&
          !is_clean(std::span(curve.rows.begin(), beyond))) {
        reason = overflows_early(sweep.stride_bytes);
        return std::nullopt;
      }
      result.curves.push_back(std::move(curve));
    }
    return result;
  }
  reason = "no footprint overflows at any stride; sweep larger footprints";
  return std::nullopt;
}

// A walk that touches every line of its footprint misses on whichever lines a longer stride's does, on as many at
// least. By how much likelier more misses than the shortest stride's are, where that one fits: then it doesn't touch
// every line, or something brings lines in ahead of it. Rows that end before their lap does are of other lines each.
bool overflows_before_shortest(const StrideCurve& longer, const StrideCurves& data) {
  const auto is_whole = [](const Observation& row, const StrideCurve& curve) {
    return (row.weight + 1) * curve.stride >= row.control;
  };
  constexpr double beyond_doubt = 1e-4;
  const StrideCurve& shortest = data.curves.front();
  double excess = 0;
  for (const Observation& row : longer.rows) {
    const auto as_large = std::find_if(shortest.rows.begin(), shortest.rows.end(),
                                       [&](const Observation& other) { return other.control >= row.control; });
    if (as_large == shortest.rows.end() || as_large->control > data.capacity) break;
    if (!is_whole(row, longer) || !is_whole(*as_large, shortest)) continue;
    const double least = row.level() * shortest.stride / longer.stride * as_large->weight, seen = as_large->sum;
    if (seen < least) excess += least - seen + (seen > 0 ? seen * std::log(seen / least) : 0);
  }
  return std::exp(-excess) * static_cast<double>(data.curves.size()) < beyond_doubt;
}

// The lines that only the shortest stride touches all of, or nearly: from the power of two that it reaches to below the
// second one.
std::vector<double> lines_of_shortest(const std::vector<double>& strides) {
  const double power = std::exp2(std::floor(std::log2(strides.front())));
  std::vector<double> lines = possible_spacings(strides, strides.front(), strides[1]);
  lines.insert(lines.begin(), strides.front());
  if (power < strides.front()) lines.insert(lines.begin(), power);
  return lines;
}

// Of one of these lines, whichever. The shortest stride counts as a line whatever number it is: that is how an odd
// multiple of one looks, as long as no shorter stride is there.
double log_likelihood_of_any(const std::vector<double>& lines, const StrideCurves& data) {
  std::vector<double> logs;
  for (const double line : lines)
    logs.push_back(log_likelihood_of_line(line, data) +
                   (line == data.curves.front().stride ? 0 : log_prior_of_spacing(line)));
  const double highest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - highest);
  return highest + std::log(sum);
}

// Lines that no stride but the shortest touches each of, or that all strides do, are one hypothesis at either end.
Posterior posterior_of(const StrideCurves& data) {
  std::vector<double> strides;
  for (const StrideCurve& curve : data.curves) strides.push_back(curve.stride);
  const double second = strides[1], longest = strides.back();
  Posterior p;
  p.values = possible_spacings(strides, std::nextafter(second, 0), longest);
  p.probability.push_back(log_likelihood_of_any(lines_of_shortest(strides), data));
  for (const double line : p.values)
    p.probability.push_back(log_likelihood_of_line(line, data) + log_prior_of_spacing(line));
  p.probability.push_back(log_likelihood_of_line(2 * longest, data));
  // And none of all: a stride's misses are any multiple, up to twice, of what the shorter ones' are.
  constexpr double seldom = 0.05, any_multiple = 0.5;
  p.probability.push_back(std::log(seldom) + static_cast<double>(strides.size() - 1) * std::log(any_multiple));
  p.probability = probabilities(std::move(p.probability));
  p.probability.pop_back();
  p.at_most = p.probability.front();
  p.at_least = p.probability.back();
  p.probability = {p.probability.begin() + 1, p.probability.end() - 1};
  p.least = std::exp2(std::ceil(std::log2(second)) - 1);
  p.most = std::exp2(std::floor(std::log2(longest)));
  if (!p.values.empty()) p.take_likeliest();
  // What lies beyond the ends isn't in the interval.
  constexpr double most_outside = 0.35;
  if (p.at_most <= better_part && p.at_least <= better_part && p.at_most + p.at_least > most_outside)
    p.least_of_best = 1;
  return p;
}

}  // namespace

Estimate find_line_size(std::span<const StrideSweep> sweeps) {
  std::vector<StrideSweep> sorted;
  std::uint64_t samples = 0;
  for (const StrideSweep& sweep : sweeps) {
    Trace trace = tidied(sweep.trace);
    if (!(sweep.stride_bytes > 0) || !why_unusable(trace, 1).empty()) continue;
    samples += trace.loads();
    sorted.push_back({sweep.stride_bytes, std::move(trace)});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const StrideSweep& a, const StrideSweep& b) { return a.stride_bytes < b.stride_bytes; });
  if (sorted.size() < 2)
    return inconclusive("B", trace_line_method, "at least two strides with usable rows are needed", samples);
  std::string reason;
  const auto data = overflow(sorted, reason);
  if (!data) return inconclusive("B", trace_line_method, reason, samples);
  for (const StrideCurve& longer : std::span(data->curves).subspan(1))
    if (overflows_before_shortest(longer, *data))
      return inconclusive("B", trace_line_method,
                          "a longer stride misses where the shortest one fits: that doesn't touch every line, or lines "
                          "are brought in ahead of it; sweep shorter strides",
                          samples);
  return estimate_of(posterior_of(*data), trace_line_method, samples,
                     {"only the shortest stride touches every line: the line is at most that long",
                      "even the longest stride misses like the shorter ones: the line is at least that long",
                      "several line sizes explain the strides about as well"});
}

}  // namespace gputopo::evidence
