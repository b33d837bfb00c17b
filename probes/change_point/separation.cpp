#include "change_point/separation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>

#include "change_point/capacity_law.hpp"
#include "change_point/significance.hpp"

namespace gputopo::change_point {
namespace {

constexpr std::size_t max_components = 6;
constexpr std::size_t max_bins = 400;

// What the clock counts in: 1 cycle, 4 on some GPUs; 0 where latencies aren't whole numbers (averages).
double clock_quantum(std::span<const Bin> bins) {
  std::uint64_t divisor = 0;
  for (const Bin& bin : bins) {
    if (bin.value != std::floor(bin.value)) {
      return 0;
    }
    divisor = std::gcd(divisor, static_cast<std::uint64_t>(bin.value));
  }
  return static_cast<double>(divisor);
}

bool is_material(const Boundary& boundary, double quantum, std::size_t loads) {
  return boundary.step >= 2 && boundary.step >= 0.04 * boundary.lower_mean && boundary.step > 1.5 * quantum &&
         boundary.upper_share * static_cast<double>(loads) >= 1.5;
}

std::vector<Observation> count_misses(const Trace& trace, double threshold_cycles, double outlier_cycles = HUGE_VAL) {
  std::vector<Observation> rows;
  rows.reserve(trace.rows.size());
  for (const auto& row : trace.rows) {
    const auto slower_than = [&row](double cycles) {
      std::size_t count = 0;
      for (const double value : row.values) {
        count += static_cast<std::size_t>(value >= cycles);
      }
      return count;
    };
    const std::size_t misses = slower_than(threshold_cycles);
    const std::size_t outliers = outlier_cycles < HUGE_VAL ? slower_than(outlier_cycles) : 0;
    rows.push_back({row.control, static_cast<double>(row.values.size()), static_cast<double>(misses - outliers),
                    static_cast<double>(outliers)});
  }
  return rows;
}

// A single row far above both its neighbours and the row after them is a disturbance of that row, not capacity: the
// misses of a cache that is too small can't vanish again while the footprint grows. It counts as its neighbours do.
void flatten_spikes(std::vector<Observation>& rows) {
  const auto rate = [&rows](std::size_t i) { return rows[i].sum / rows[i].weight; };
  for (std::size_t i = 1; i + 2 < rows.size(); ++i) {
    const double around = std::max({rate(i - 1), rate(i + 1), rate(i + 2)});
    const double expected = around * rows[i].weight;
    if (rows[i].sum > expected + 4 * std::sqrt(expected + 1) && rows[i].sum > 2 * expected) {
      rows[i].sum = expected;
    }
  }
}

// By the likelihood ratio, with Bonferroni's correction for the rows and boundaries it was chosen from.
bool changes_with_size(const Separation& candidate, std::size_t candidates, double level) {
  const double tail = chi_squared_tail(candidate.profile.statistic());
  return tail * static_cast<double>(candidate.rows.size() * candidates) < level;
}

}  // namespace

std::vector<Separation> separations(const Trace& trace) {
  const auto bins = latency_histogram(trace, max_bins);
  const auto components = fit_mixture(bins, max_components);
  std::size_t loads = 0;
  for (const auto& row : trace.rows) {
    loads += row.values.size();
  }
  const double quantum = clock_quantum(bins);
  std::vector<Separation> result;
  for (const Boundary& boundary : boundaries_of(components, bins)) {
    if (!is_material(boundary, quantum, loads)) {
      continue;
    }
    Separation separation{boundary, count_misses(trace, boundary.threshold_cycles), {}, {}};
    flatten_spikes(separation.rows);
    separation.law = capacity_law(trace, separation.rows, boundary.threshold_cycles);
    separation.profile = onset_profile(separation.rows, {}, separation.law);
    result.push_back(std::move(separation));
  }
  return result;
}

std::optional<std::size_t> capacity_separation(const std::vector<Separation>& candidates, double level) {
  std::optional<std::size_t> best;
  const auto is_significant = [&](const Separation& candidate) {
    return changes_with_size(candidate, candidates.size(), level);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (is_significant(candidates[i]) &&
        (!best || candidates[i].boundary.between_variance > candidates[*best].boundary.between_variance)) {
      best = i;
    }
  }
  if (!best) {
    return best;
  }
  // Boundaries that explain about as much differ in a few loads between two levels: the sharper change decides.
  const double as_much = 0.9 * candidates[*best].boundary.between_variance;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (is_significant(candidates[i]) && candidates[i].boundary.between_variance >= as_much &&
        candidates[i].profile.statistic() > candidates[*best].profile.statistic()) {
      best = i;
    }
  }
  // Loads between two boundaries are a level of their own only if their number changes with size as well.
  const auto changes_between = [&](const Separation& lower, const Separation& higher) {
    std::vector<Observation> between = lower.rows;
    for (std::size_t row = 0; row < between.size(); ++row) {
      between[row].sum = std::max(0.0, between[row].sum - higher.rows[row].sum);
    }
    const double tail = chi_squared_tail(onset_profile(between, {}).statistic());
    return tail * static_cast<double>(between.size() * candidates.size()) < level;
  };
  const double enough = 0.1 * candidates[*best].boundary.between_variance;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (is_significant(candidates[i]) && candidates[i].boundary.between_variance >= enough &&
        candidates[i].profile.last_before < candidates[*best].profile.last_before &&
        (i > *best || changes_between(candidates[i], candidates[*best]))) {
      best = i;
    }
  }
  return best;
}

Separation without_outliers(const Trace& trace, const std::vector<Separation>& candidates, std::size_t chosen,
                            double level) {
  constexpr double most_outliers = 0.005;
  Separation result = candidates[chosen];
  for (std::size_t i = chosen + 1; i < candidates.size(); ++i) {
    const bool rare = candidates[i].boundary.upper_share <= most_outliers;
    if (rare && !changes_with_size(candidates[i], candidates.size(), level)) {
      result.rows = count_misses(trace, result.boundary.threshold_cycles, candidates[i].boundary.threshold_cycles);
      flatten_spikes(result.rows);
      result.profile = onset_profile(result.rows, {}, result.law);
      break;
    }
  }
  return result;
}

}  // namespace gputopo::change_point
