#include "evidence/inference/modes.hpp"

#include <algorithm>
#include <cmath>

#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {
namespace {

using program::LatencyCount;

// A stretch of the smoothed histogram between two valleys; indices into the density, the end not included.
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;
  double peak = 0;
  double loads = 0;
};

// Loads a cycle, smoothed; index 0 is `first` cycles.
std::vector<double> density_of(std::span<const LatencyCount> histogram, std::uint32_t first, std::uint32_t last,
                               double width) {
  std::vector<double> density(last - first + 1, 0);
  const auto reach = static_cast<std::int64_t>(std::ceil(3 * width));
  for (const auto& bin : histogram) {
    if (bin.latency_cycles < first || bin.latency_cycles > last) continue;
    const auto centre = static_cast<std::int64_t>(bin.latency_cycles - first);
    for (std::int64_t d = -reach; d <= reach; ++d) {
      const std::int64_t at = centre + d;
      if (at < 0 || at >= static_cast<std::int64_t>(density.size())) continue;
      const double z = static_cast<double>(d) / width;
      density[static_cast<std::size_t>(at)] += static_cast<double>(bin.count) * std::exp(-0.5 * z * z);
    }
  }
  return density;
}

std::vector<Segment> segments_of(const std::vector<double>& density) {
  std::vector<Segment> segments{{0, 0, 0, 0}};
  bool falling = false;
  for (std::size_t i = 0; i < density.size(); ++i) {
    Segment* current = &segments.back();
    if (i > 0 && density[i] < density[i - 1]) falling = true;
    if (i > 0 && falling && density[i] > density[i - 1]) {
      current->end = i;
      segments.push_back({i, i, 0, 0});
      current = &segments.back();
      falling = false;
    }
    current->end = i + 1;
    current->peak = std::max(current->peak, density[i]);
    current->loads += density[i];
  }
  return segments;
}

Segment joined(const Segment& a, const Segment& b) {
  return {a.begin, b.end, std::max(a.peak, b.peak), a.loads + b.loads};
}

// Joins neighbours, the least separated first, until every valley is deep and every segment holds its share.
void join_shallow(std::vector<Segment>& segments, const std::vector<double>& density, double least_loads) {
  constexpr double deep = 0.5;
  while (segments.size() > 1) {
    std::size_t worst = 0;
    double worst_depth = -1;
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
      const double valley = std::min(density[segments[i].end - 1], density[segments[i + 1].begin]);
      const double depth = valley / std::min(segments[i].peak, segments[i + 1].peak);
      const bool small = segments[i].loads < least_loads || segments[i + 1].loads < least_loads;
      const double urgency = small ? 1 + depth : depth;
      if (urgency > worst_depth) {
        worst_depth = urgency;
        worst = i;
      }
    }
    if (worst_depth < deep) break;
    segments[worst] = joined(segments[worst], segments[worst + 1]);
    segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(worst) + 1);
  }
}

}  // namespace

std::vector<Mode> modes_of(std::span<const LatencyCount> histogram, double least_share) {
  std::vector<Mode> modes;
  const auto whole = static_cast<double>(total(histogram));
  if (whole == 0) return modes;
  const double width = std::max(2.0, 0.015 * quantile(histogram, 0.5).value_or(0));
  // All of the first and the last peak, their smoothed flanks too: cut in half they would hold half their shares. The
  // tail of outliers would cost time and joins the last mode anyway.
  const auto flank = static_cast<std::uint32_t>(std::ceil(3 * width));
  const std::uint32_t fastest = histogram.front().latency_cycles, first = fastest - std::min(fastest, flank);
  const std::uint32_t last = static_cast<std::uint32_t>(quantile(histogram, 0.98).value_or(0)) + flank;
  const auto density = density_of(histogram, first, std::max(first, last), width);
  auto segments = segments_of(density);
  double loads = 0;
  for (const Segment& s : segments) loads += s.loads;
  join_shallow(segments, density, least_share * loads);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool is_last = i + 1 == segments.size();
    const auto part = between(histogram, first + static_cast<double>(segments[i].begin),
                              is_last ? 1e9 : first + static_cast<double>(segments[i].end));
    modes.push_back(whole_mode(part));
    modes.back().share = static_cast<double>(total(part)) / whole;
  }
  return modes;
}

Mode whole_mode(std::span<const LatencyCount> histogram) {
  Mode mode{quantile(histogram, 0.5).value_or(0),
            quantile(histogram, 0.25).value_or(0),
            quantile(histogram, 0.75).value_or(0),
            1,
            0,
            0};
  const double reach = 1.5 * (mode.high_quartile - mode.low_quartile) + 1;  // Tukey's fences
  const Histogram inner = between(histogram, mode.low_quartile - reach, mode.high_quartile + reach + 0.5);
  mode.centre = mean(inner).value_or(mode.median);
  double square = 0;
  for (const auto& bin : inner)
    square += static_cast<double>(bin.count) * (bin.latency_cycles - mode.centre) * (bin.latency_cycles - mode.centre);
  const auto n = static_cast<double>(std::max<std::uint64_t>(1, total(inner)));
  mode.error = 1.96 * std::sqrt(square / n / n) + half_a_tick;
  return mode;
}

double upper_fence(std::span<const LatencyCount> histogram) {
  const double low = quantile(histogram, 0.25).value_or(0);
  const double high = quantile(histogram, 0.75).value_or(0);
  return high + std::max(least_fence_cycles, 3 * (high - low));
}

Estimate penalty_of(const Mode& next, double hit_cycles, std::uint64_t samples) {
  Estimate e = measured(next.centre - hit_cycles, "cycles", "miss_latency", samples);
  e.interval = Interval{*e.value - next.error, *e.value + next.error};
  return e;
}

Mode lowest_mode(std::span<const LatencyCount> histogram, double strangers) {
  // One hit that took long among twenty misses is a share of 5 %, and would be a level below theirs.
  constexpr double least_loads = 3;
  constexpr double usual_share = 0.05;
  const auto loads = static_cast<double>(std::max<std::uint64_t>(1, total(histogram)));
  const double more = std::max(least_loads, strangers + 4 * std::sqrt(strangers));
  const auto modes = modes_of(histogram, std::clamp(more / loads, usual_share, 0.5));
  return modes.empty() ? Mode{} : modes.front();
}

}  // namespace gputopo::evidence
