#include "evidence/levels.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "evidence/modes.hpp"

namespace gputopo::evidence {
namespace {

constexpr double surely_another_kind = 1e-6;  // tens of samples a discovery

// Laplace's rule: the mean of the posterior of a share.
double share(std::uint64_t part, std::uint64_t whole) {
  return (static_cast<double>(part) + 0.5) / (static_cast<double>(whole) + 1);
}

// Every latency that occurs, where the counts below and above change.
std::vector<double> candidates_of(const Histogram& hit, const Histogram& next) {
  std::set<double> at;
  for (const Histogram* h : {&hit, &next})
    for (const auto& bin : *h) {
      at.insert(bin.latency_cycles);
      at.insert(bin.latency_cycles + 1.0);
    }
  return {at.begin(), at.end()};
}

// Kolmogorov and Smirnov's two-sample distance at `threshold` is what the threshold tells apart; its limiting tail
// bounds the probability of as much by chance (the threshold was chosen as the best one: that is the statistic).
double chance_of(double distance, std::uint64_t m, std::uint64_t n) {
  const double effective = static_cast<double>(m) * static_cast<double>(n) / static_cast<double>(m + n);
  return std::min(1.0, 2 * std::exp(-2 * distance * distance * effective));
}

}  // namespace

Levels levels_of(Histogram hit, Histogram next) {
  Levels levels;
  levels.hit = std::move(hit);
  levels.next = std::move(next);
  const std::uint64_t hits = total(levels.hit);
  const std::uint64_t misses = total(levels.next);
  if (hits == 0 || misses == 0) return levels;
  double least = 2, best_from = 0, best_to = 0, widest = -1;
  const auto candidates = candidates_of(levels.hit, levels.next);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double false_miss = share(count_from(levels.hit, candidates[i]), hits);
    const double false_hit = share(misses - count_from(levels.next, candidates[i]), misses);
    // Between this latency and the one before nothing was seen: any threshold there is as good.
    const double from = i == 0 ? candidates[i] : candidates[i - 1];
    const double gap = candidates[i] - from;
    const double errors = false_miss + false_hit;
    if (errors > least + 1e-12 || (errors > least - 1e-12 && gap <= widest)) continue;
    least = errors;
    widest = gap;
    best_from = from;
    best_to = candidates[i];
    levels.false_miss = false_miss;
    levels.false_hit = false_hit;
  }
  levels.threshold_cycles = (best_from + best_to) / 2;
  levels.doubt = chance_of(std::max(0.0, levels.told_apart()), hits, misses);
  return levels;
}

Levels graded_levels(Histogram hit, const std::vector<Histogram>& graded) {
  if (graded.empty()) return {};
  Levels surely = levels_of(hit, graded.back());
  if (!surely.usable()) return surely;
  // The nearest level is the one with the lowest threshold of all that are surely another kind; samples that say nearly
  // the same are of that level, others of levels further on.
  std::vector<Levels> others;
  for (const Histogram& h : graded)
    if (Levels one = levels_of(hit, h); one.doubt < surely_another_kind) others.push_back(std::move(one));
  if (others.empty()) return surely;
  const auto lower = [](const Levels& x, const Levels& y) { return x.threshold_cycles < y.threshold_cycles; };
  const double nearest = std::min_element(others.begin(), others.end(), lower)->threshold_cycles;
  Histogram next;
  for (const Levels& one : others)
    if (one.threshold_cycles <= least_ratio * nearest) next = merged(next, one.next);
  Levels levels = levels_of(std::move(hit), std::move(next));
  // Those samples may be hits in part. Misses are as far below the threshold as hits are above it, or further off.
  const std::uint64_t seen = total(graded.back());
  const double of_sure_misses = share(seen - count_from(graded.back(), levels.threshold_cycles), seen);
  levels.false_hit = std::min(levels.false_hit, std::max(of_sure_misses, levels.false_miss));
  levels.doubt = surely.doubt;
  return levels;
}

bool are_alike(const Histogram& hits, const Histogram& behind, double overhead_cycles, double clock_share) {
  constexpr double by_chance = 0.01;
  const Mode near = whole_mode(hits), far = whole_mode(behind);
  const double own = near.centre - overhead_cycles, other = far.centre - overhead_cycles;
  const double apart = std::max(std::fabs(other - own), std::fabs(other / clock_share - own));
  return apart + far.error + near.error < (least_ratio - 1) * own && levels_of(hits, behind).doubt > by_chance;
}

}  // namespace gputopo::evidence
