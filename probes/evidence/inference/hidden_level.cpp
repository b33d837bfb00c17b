#include "evidence/inference/hidden_level.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::evidence {
namespace {

// Loads of the nearest level below the threshold, as far as hits alone don't explain those there, and above it.
struct Hidden {
  double loads = 0, seen = 0, deviation = 0;
  double share(double below) const { return below > 0 ? below / (below + seen) : 0; }
};

Hidden hidden_in(const Levels& levels) {
  const double quarter = quantile(levels.hit, 0.25).value_or(0) + 0.5, until = levels.threshold_cycles;
  const double middle = quantile(levels.hit, 0.5).value_or(0);
  const auto loads = [](const Histogram& h, double from, double to) {
    return static_cast<double>(total(between(h, from, to)));
  };
  const double fast = loads(levels.next, 0, quarter), slow = loads(levels.next, quarter, until);
  const double fast_hits = std::max(1.0, loads(levels.hit, 0, quarter));
  const double slow_hits = std::max(1.0, loads(levels.hit, quarter, until));
  const double hits = fast * slow_hits / fast_hits, seen = loads(levels.next, until, 2 * until - middle);
  const double variance = slow + hits * hits * (1 / std::max(1.0, fast) + 1 / fast_hits + 1 / slow_hits);
  return {slow - hits, seen, std::sqrt(variance)};
}

}  // namespace

double hidden_share(const Levels& levels, double deviations) {
  const Hidden hidden = hidden_in(levels);
  const double by_chance = deviations * std::hypot(hidden.deviation, std::sqrt(hidden.seen));
  return hidden.loads > by_chance ? hidden.share(hidden.loads) : 0;
}

double most_hidden_share(const Levels& levels) {
  const Hidden hidden = hidden_in(levels);
  return hidden.share(std::max(0.0, hidden.loads) + 1.96 * hidden.deviation);
}

double most_hidden_where_seen(const Levels& levels, double overhead_cycles) {
  const double middle = quantile(levels.hit, 0.5).value_or(0), until = levels.threshold_cycles, spread = until - middle;
  const Hidden hidden = hidden_in(levels);
  if (!are_more_than_strangers(static_cast<std::size_t>(hidden.seen), count_from(levels.next, until))) return 0;
  // A level that begins above the threshold has none right there, and no more below it where there are fewer than on.
  constexpr double right_there = 4;
  const auto begin = static_cast<double>(total(between(levels.next, until, until + spread / right_there)));
  // Of a level as wide as the hits lies above them what its middle is further on, of both sides of it.
  const double least_seen = (least_ratio - 1) * (middle - overhead_cycles) / (2 * spread);
  return std::min({most_hidden_share(levels), hidden.share(right_there * begin), std::max(0.0, 1 - least_seen)});
}

double most_hidden_loads(const Levels& levels, const Histogram& loads) {
  constexpr double nearly_none = 0.01, deviations = 4;
  const Histogram hits = between(levels.hit, 0, levels.threshold_cycles);
  const double from = quantile(hits, nearly_none).value_or(0), to = quantile(hits, 1 - nearly_none).value_or(0) + 1;
  const auto beyond = [&](const Histogram& h) { return static_cast<double>(total(between(h, to, 2 * to - from))); };
  const auto known = static_cast<double>(std::max<std::uint64_t>(1, total(hits)));
  const double as_many = static_cast<double>(total(between(loads, 0, levels.threshold_cycles))) / known;
  const double slow_hits = beyond(levels.hit) * as_many, near_level = beyond(loads) - slow_hits;
  if (near_level <= deviations * std::sqrt(beyond(loads) + slow_hits * as_many)) return 0;
  Levels of_loads = levels;
  of_loads.next = loads;
  const Hidden hidden = hidden_in(of_loads);
  return std::min(near_level, std::max(0.0, hidden.loads) + 1.96 * hidden.deviation);
}

}  // namespace gputopo::evidence
