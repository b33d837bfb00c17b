#include "experiments/modes.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::experiments {
namespace {

using program::LatencyCount;

// Half the distance between the quartiles: outliers leave it alone.
double spread_of(std::span<const LatencyCount> part) {
  return (quantile(part, 0.75).value_or(0) - quantile(part, 0.25).value_or(0)) / 1.35;
}

// Index of the first bin of the upper side; 0 where there is no split.
std::size_t best_split(std::span<const LatencyCount> bins) {
  double n = 0;
  double sum = 0;
  for (const auto& b : bins) {
    n += static_cast<double>(b.count);
    sum += static_cast<double>(b.count) * b.latency_cycles;
  }
  double below = 0;
  double sum_below = 0;
  double best = 0;
  std::size_t split = 0;
  for (std::size_t i = 1; i < bins.size(); ++i) {
    below += static_cast<double>(bins[i - 1].count);
    sum_below += static_cast<double>(bins[i - 1].count) * bins[i - 1].latency_cycles;
    const double above = n - below;
    if (below <= 0 || above <= 0) continue;
    const double distance = sum_below / below - (sum - sum_below) / above;
    const double criterion = below * above * distance * distance;
    if (criterion > best) {
      best = criterion;
      split = i;
    }
  }
  return split;
}

void add_modes(std::span<const LatencyCount> bins, double whole, double least_share, std::vector<Mode>& modes) {
  const std::size_t split = best_split(bins);
  if (split != 0) {
    const auto low = bins.first(split);
    const auto high = bins.subspan(split);
    const double distance = quantile(high, 0.5).value_or(0) - quantile(low, 0.5).value_or(0);
    const double spread = std::max({spread_of(low), spread_of(high), 1.0});
    const double smaller = static_cast<double>(std::min(total(low), total(high)));
    if (smaller < least_share * whole) {
      // Outliers: what is left may still be several levels.
      add_modes(total(low) > total(high) ? low : high, whole, least_share, modes);
      return;
    }
    if (distance > 4 * spread) {
      add_modes(low, whole, least_share, modes);
      add_modes(high, whole, least_share, modes);
      return;
    }
  }
  modes.push_back({quantile(bins, 0.5).value_or(0), quantile(bins, 0.25).value_or(0), quantile(bins, 0.75).value_or(0),
                   static_cast<double>(total(bins)) / whole});
}

}  // namespace

std::vector<Mode> modes_of(std::span<const LatencyCount> histogram, double least_share) {
  std::vector<Mode> modes;
  if (!histogram.empty()) add_modes(histogram, static_cast<double>(total(histogram)), least_share, modes);
  return modes;
}

Mode lowest_mode(std::span<const LatencyCount> histogram) {
  const auto modes = modes_of(histogram);
  return modes.empty() ? Mode{} : modes.front();
}

}  // namespace gputopo::experiments
