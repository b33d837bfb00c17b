#include "evidence/held/near_count.hpp"

#include <algorithm>
#include <cmath>

#include "evidence/inference/hidden_level.hpp"
#include "evidence/looks/latency.hpp"

namespace gputopo::evidence {
namespace {

// The most of the far loads that may have looked near. What a level takes lies together, so that of its tail no more
// reaches across the threshold than lies around that: as far as half of the way to the hits. Not so where more was seen
// to: distances in steps leave gaps, in which the threshold may lie.
double most_hidden(const Histogram& loads, const Levels& levels) {
  const double half = (levels.threshold_cycles - quantile(levels.hit, 0.5).value_or(0)) / 2;
  const auto far = static_cast<double>(count_from(loads, levels.threshold_cycles));
  // Of as few lines of the level behind as were timed, some times each.
  const double lines = std::max(1.0, static_cast<double>(total(levels.next)) / looks_at_a_line);
  constexpr double beyond_doubt = 4;
  const double error = std::sqrt(levels.false_hit * (1 - levels.false_hit) / lines);
  const double known = std::min(1.0, std::max(levels.false_hit + 1.96 * error, levels.most_false_hit));
  if (half <= 0 || far == 0) return known;
  const auto around = total(between(loads, levels.threshold_cycles - half, levels.threshold_cycles + half));
  const double of_tail = static_cast<double>(around) / far;
  return of_tail < levels.false_hit - beyond_doubt * error ? known : std::min(known, of_tail);
}

// The most of the known hits that may have been lines that were lost again: they take what the level behind does, as
// others that something made slow seldom do.
double most_lost(const Levels& levels) {
  constexpr double nearly_none = 0.05;
  const Histogram behind = between(levels.next, levels.threshold_cycles, 1e9);
  const auto from = quantile(behind, nearly_none), to = quantile(behind, 1 - nearly_none);
  if (!from || !to) return levels.false_miss;
  const auto alike = static_cast<double>(total(between(levels.hit, *from - 0.5, *to + 0.5)));
  const double hits = std::max(1.0, static_cast<double>(total(levels.hit)));
  return std::min(levels.false_miss, alike / hits / (1 - 2 * nearly_none));
}

// The least that two counts leave where more is found of more by more than chance: misses that look like hits are as
// many a load in both, however many were known to be, so what grows with what was walked may all be these.
double least_by_growth(const NearCount& a, const NearCount& b, double least) {
  const double growth = b.held - a.held, more = b.bytes - a.bytes;
  if (more <= 0 || growth <= std::hypot(a.scatter, b.scatter)) return least;
  if (growth >= more) return 0;
  const double without = a.held * b.bytes - b.held * a.bytes;
  const double off = std::hypot(a.scatter * b.bytes, b.scatter * a.bytes);
  return std::min(least, std::max(0.0, (without - off) / (more - growth)));
}

}  // namespace

// Of places in a row what goes by age is all there or all gone, but at one border, and what goes in any other way comes
// and goes in sets and lines, not in loads: so chance shows in what neighbours differ by.
NearCount near_of(const std::vector<Histogram>& looks, const Levels& levels, double walked_bytes,
                  std::uint64_t stretches) {
  Histogram all;
  double squares = 0, last = -1;
  const auto near_share = [&](const Histogram& h) {
    return 1 - static_cast<double>(count_from(h, levels.threshold_cycles)) / static_cast<double>(total(h));
  };
  for (const Histogram& h : looks) {
    const double here = near_share(h);
    squares += last < 0 ? 0 : (here - last) * (here - last);
    last = here;
    all = merged(all, h);
  }
  // Half of the most, give or take as much: few loads told, of which none or one did. How many hits are slow more did,
  // but of those that were lost none is to be added to what is near.
  const double hidden = most_hidden(all, levels) / 2, lost = most_lost(levels) / 2, slow = levels.false_miss - lost;
  const auto share_with = [&](double looked_near) {
    const double told = 1 - looked_near - slow;  // nothing: all that looks near may be far
    return told <= 0 ? 0.0 : std::clamp((near_share(all) - looked_near) / told, 0.0, 1.0);
  };
  const double share = share_with(hidden), off = share - share_with(2 * hidden);  // the farther one of both ends
  const auto n = static_cast<double>(looks.size());
  NearCount count{walked_bytes, walked_bytes * share, 0, 0, total(all)};
  count.scatter = walked_bytes * (0.5 / (n * static_cast<double>(stretches)) +
                                  1.96 * std::sqrt(squares / 2 / (n - 1) / n + 1e-9) / (1 - hidden - slow));
  const double known = 1.96 * std::sqrt(slow / std::max(1.0, static_cast<double>(total(levels.hit))));
  count.mistaken = walked_bytes * (off + (lost + std::min(slow, known)) * share / (1 - hidden - slow));
  return count;
}

Held held_by(const NearCount& count) {
  const double off = count.scatter + count.mistaken;
  Held held;
  held.bytes = count.held;
  held.interval = {count.held - off, count.held + off};
  held.samples = count.samples;
  return held;
}

Held held_by(const NearCount& a, const NearCount& b) {
  const double weight = 1 / (1 + std::pow(b.scatter / a.scatter, 2));
  Held held;
  held.bytes = weight * b.held + (1 - weight) * a.held;
  const double off =
      std::hypot(weight * b.scatter, (1 - weight) * a.scatter) + weight * b.mistaken + (1 - weight) * a.mistaken;
  held.interval = {least_by_growth(a, b, held.bytes - off), held.bytes + off};
  // The same rates are mistaken in both, by as much a load.
  held.steady = std::fabs(b.held - a.held) <= std::hypot(a.scatter, b.scatter) + std::fabs(b.mistaken - a.mistaken);
  held.samples = a.samples + b.samples;
  return held;
}

}  // namespace gputopo::evidence
