#include "evidence/inference/levels.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/hidden_level.hpp"
#include "evidence/inference/modes.hpp"

namespace gputopo::evidence {
namespace {

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

// Samples may hold many hits and few misses. Where their hits differ a little from those that are known, the best
// threshold between the two would lie among the hits: none lies nearer to their middle than to any other level's, nor
// below where they end (the whisker of Tukey's box: the slowest one within his fence).
double least_threshold(const Histogram& hit, double overhead_cycles) {
  const double low = quantile(hit, 0.25).value_or(0), high = quantile(hit, 0.75).value_or(0);
  const double middle = quantile(hit, 0.5).value_or(0);
  double whisker = middle;
  for (const auto& bin : hit)
    if (bin.latency_cycles <= high + 1.5 * (high - low)) whisker = std::max<double>(whisker, bin.latency_cycles);
  return std::max(overhead_cycles + half_a_level * (middle - overhead_cycles), whisker + 0.5);
}

}  // namespace

double reach_of(const Histogram& loads) {
  const double fastest = quantile(loads, 0.01).value_or(0), middle = quantile(loads, 0.5).value_or(0);
  return middle + 2 * (middle + 1 - fastest);
}

namespace {

// A threshold, and the widest stretch without loads that it may lie in.
struct Split {
  double false_miss = 1, false_hit = 1, from = 0, to = 0;
  double errors() const { return false_miss + false_hit; }
  double gap() const { return to - from; }
};

std::vector<Split> splits_from(double least_cycles, const Levels& levels) {
  const std::uint64_t hits = total(levels.hit), misses = total(levels.next);
  std::vector<Split> splits;
  const auto candidates = candidates_of(levels.hit, levels.next);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double at = candidates[i];
    if (at < least_cycles) continue;
    splits.push_back({share(count_from(levels.hit, at), hits), share(misses - count_from(levels.next, at), misses),
                      i == 0 ? at : std::max(least_cycles, candidates[i - 1]), at});
  }
  return splits;
}

// The best threshold of those that lie at `least_cycles` or above. Of samples with few misses many are as good but for
// chance: the one that lies in the widest gap.
Levels levels_from(double least_cycles, Histogram hit, Histogram next) {
  Levels levels;
  levels.hit = std::move(hit);
  levels.next = std::move(next);
  const std::uint64_t hits = total(levels.hit), misses = total(levels.next);
  if (hits == 0 || misses == 0) return levels;
  const std::vector<Split> splits = splits_from(least_cycles, levels);
  if (splits.empty()) return levels;  // nothing was that slow
  const auto fewer = [](const Split& x, const Split& y) { return x.errors() < y.errors(); };
  Split best = *std::min_element(splits.begin(), splits.end(), fewer);
  const auto variance = [](double p, std::uint64_t n) { return p * (1 - p) / static_cast<double>(n); };
  const double by_chance = 2 * std::sqrt(variance(best.false_miss, hits) + variance(best.false_hit, misses));
  const double good = best.errors() + by_chance;
  for (const Split& s : splits)
    if (s.errors() <= good && s.gap() > best.gap()) best = s;
  levels.false_miss = best.false_miss;
  levels.false_hit = best.false_hit;
  levels.sure_misses = static_cast<double>(misses);
  levels.threshold_cycles = (best.from + best.to) / 2;
  levels.doubt = chance_of(std::max(0.0, levels.told_apart()), hits, misses);
  return levels;
}

double x_log_share(double x, double n) {
  return x > 0 ? x * std::log(x / n) : 0;
}

// Whether more of the one sample than of the other lies above the threshold: likelihood ratio of two shares against one
// (Wilks 1938), for a threshold that is the best of a few hundred, tens of times a discovery. Few misses among many
// hits show in it, as they don't in a distance between distributions.
bool is_surely_another_kind(const Levels& l) {
  constexpr double least = 40;  // chi-squared with one degree: once in 4e9
  const auto hits = static_cast<double>(total(l.hit)), loads = static_cast<double>(total(l.next));
  if (l.threshold_cycles == 0 || l.told_apart() <= 0) return false;
  const auto slow_hits = static_cast<double>(count_from(l.hit, l.threshold_cycles));
  const auto slow = static_cast<double>(count_from(l.next, l.threshold_cycles));
  const double apart = x_log_share(slow_hits, hits) + x_log_share(hits - slow_hits, hits) + x_log_share(slow, loads) +
                       x_log_share(loads - slow, loads);
  const double together =
      x_log_share(slow_hits + slow, hits + loads) + x_log_share(hits + loads - slow_hits - slow, hits + loads);
  return 2 * (apart - together) > least;
}

// The share of hits above the threshold by their own spread, which misses have on no side.
double spread_beyond(const Levels& l) {
  const double reach = reach_of(l.hit);
  return static_cast<double>(total(between(l.hit, l.threshold_cycles, std::max(l.threshold_cycles, reach)))) /
         static_cast<double>(std::max<std::uint64_t>(1, total(l.hit)));
}

// Significantly more than one in twenty, as many as are a stranger's.
bool are_some(double share, double loads) {
  constexpr double hardly_any = 0.05;
  return share > hardly_any + 4 * std::sqrt(share * (1 - share) / std::max(1.0, loads));
}

bool are_some(double share, const Histogram& loads) {
  return are_some(share, static_cast<double>(total(loads)));
}

bool are_some_below(const Histogram& loads, double cycles) {
  return !loads.empty() && are_some(1 - share_from(loads, cycles), loads);
}

}  // namespace

Levels levels_of(Histogram hit, Histogram next) {
  return levels_from(0, std::move(hit), std::move(next));
}

Levels graded_levels(Histogram hit, const std::vector<Histogram>& graded, double overhead_cycles) {
  if (graded.empty()) return {};
  Levels surely = levels_of(hit, graded.back());
  if (!surely.usable()) return surely;
  const double least = least_threshold(hit, overhead_cycles);
  // The nearest level is the one with the lowest threshold of all that are surely another kind; samples that say nearly
  // the same are of that level, others of levels further on.
  std::vector<Levels> others;
  for (const Histogram& h : graded)
    if (Levels one = levels_from(least, hit, h); is_surely_another_kind(one)) others.push_back(std::move(one));
  if (others.empty()) return surely;
  const auto lower = [](const Levels& x, const Levels& y) { return x.threshold_cycles < y.threshold_cycles; };
  const double nearest = std::min_element(others.begin(), others.end(), lower)->threshold_cycles;
  Histogram next;
  for (const Levels& one : others)
    if (one.threshold_cycles <= least_ratio * nearest) next = merged(next, one.next);
  Levels levels = levels_from(least, std::move(hit), std::move(next));
  // Those samples may be hits in part. Misses are as far below the threshold as hits are above it, or further off.
  const std::uint64_t seen = total(graded.back());
  const double of_sure_misses = share(seen - count_from(graded.back(), levels.threshold_cycles), seen);
  levels.false_hit = std::min(levels.false_hit, std::max(of_sure_misses, spread_beyond(levels)));
  levels.sure_misses = static_cast<double>(seen);
  levels.doubt = surely.doubt;
  levels.most_false_hit = most_hidden_where_seen(levels, overhead_cycles);
  return levels;
}

bool hold_slower_loads(const Histogram& hits, const Histogram& others, double overhead_cycles) {
  return is_surely_another_kind(levels_from(least_threshold(hits, overhead_cycles), hits, others));
}

bool are_slower(const Histogram& before, const Histogram& after) {
  return is_surely_another_kind(levels_from(0, before, after));
}

bool hold_more_than_strangers(const Histogram& loads) {
  return are_some(share_from(loads, reach_of(loads)), loads);
}

bool are_more_than_strangers(std::size_t slow, std::size_t looks) {
  const auto all = static_cast<double>(std::max<std::size_t>(1, looks));
  return are_some(static_cast<double>(slow) / all, all);
}

bool hold_faster_kind(const Histogram& hits, double hit_cycles, double overhead_cycles) {
  constexpr std::uint64_t by_chance = 3;
  const double faster =
      std::min(hit_cycles - least_fence_cycles, overhead_cycles + (hit_cycles - overhead_cycles) / least_ratio);
  return total(hits) - count_from(hits, faster) > by_chance;
}

bool miss_as_fast(const Histogram& hit, const std::vector<Histogram>& graded, double overhead_cycles) {
  const double fastest = quantile(hit, 0.01).value_or(0), middle = quantile(hit, 0.5).value_or(0);
  const double faster = overhead_cycles + (fastest - overhead_cycles) / half_a_level;
  return are_some_below(graded.back(), middle + 0.5) ||
         std::any_of(graded.begin(), graded.end(), [&](const Histogram& h) { return are_some_below(h, faster); });
}

bool are_served_sooner(const Levels& levels, const Histogram& walked, double cycles, double overhead_cycles) {
  constexpr double many = 0.25;  // strangers among hits, and lines that are nearer than those that were looked at
  const double from = std::max(least_threshold(levels.hit, overhead_cycles), reach_of(levels.hit));
  const double until = overhead_cycles + (cycles - overhead_cycles) / least_ratio;
  if (walked.empty() || until <= from) return false;
  const double between_both = share_from(walked, from) - share_from(walked, until);
  return are_some(between_both, walked) && between_both > many * share_from(walked, from);
}

bool hide_a_level(const Levels& levels, const std::vector<Histogram>& graded, double least_share) {
  constexpr double by_chance = 1e-6;  // one of a hundred samples in ten thousand discoveries
  const Histogram known = between(levels.hit, 0, levels.threshold_cycles);
  return std::any_of(graded.begin(), graded.end(), [&](const Histogram& all) {
    const Histogram fast = between(all, 0, levels.threshold_cycles);
    const double beyond = share_from(all, levels.threshold_cycles);
    const Levels slower = levels_of(known, fast), faster = levels_of(fast, known);
    const Levels& other = slower.doubt < faster.doubt ? slower : faster;
    const double expected = beyond * levels.false_hit / (1 - levels.false_hit);
    return !fast.empty() && other.doubt < by_chance && other.told_apart() * (1 - beyond) > least_share + expected;
  });
}

double cycles_behind_near_lines(const Levels& levels, const Histogram& furthest) {
  constexpr double fastest = 0.01, near = 0.05, far = 0.9;  // one load in twenty is a stranger's
  // Two loads of one line behind, of which the second finds what the first one brought, aren't of levels further on.
  const Mode behind = lowest_mode(between(levels.next, levels.threshold_cycles, 1e9));
  const double end =
      behind.high_quartile + std::max(least_fence_cycles, 3 * (behind.high_quartile - behind.low_quartile));
  const bool holds_behind = quantile(furthest, fastest).value_or(0) >= levels.threshold_cycles;
  const Histogram beyond = between(furthest, end, 1e9);
  const Histogram& further = holds_behind && !beyond.empty() ? beyond : furthest;
  const double further_on = quantile(further, fastest).value_or(0);
  const auto slowest = quantile(between(levels.next, levels.threshold_cycles, further_on), far);
  if (!slowest) return 0;
  const auto spread = [&](const Histogram& h) { return quantile(h, far).value_or(0) - quantile(h, near).value_or(0); };
  const double apart = spread(further) - spread(levels.hit);  // hits' own spread is noise
  // Those that are slower than any hit and still below the threshold would have been seen.
  return *slowest - apart < std::min(levels.threshold_cycles, reach_of(levels.hit)) ? further_on : 0;
}

Levels close_to_hits(Levels levels, double overhead_cycles, bool by_their_spread) {
  constexpr double hardly_more = 0.002;  // hits above the threshold than there are by strangers
  const std::uint64_t hits = total(levels.hit);
  const double least = least_threshold(levels.hit, overhead_cycles), was = levels.threshold_cycles;
  for (const auto& bin : levels.hit) {
    const double at = std::max(least, bin.latency_cycles + 0.5);
    if (at >= levels.threshold_cycles) break;
    if (share(count_from(levels.hit, at), hits) <= levels.false_miss + hardly_more) levels.threshold_cycles = at;
  }
  if (by_their_spread) {
    constexpr double end = 0.05;  // beyond it strangers, or hits among the misses
    const Histogram misses = between(levels.next, was, 1e9);
    const double fastest = quantile(misses, end).value_or(was), slowest = quantile(misses, 1 - end).value_or(was);
    const double nearest = fastest - (slowest - fastest);
    levels.threshold_cycles = std::clamp((levels.threshold_cycles + nearest) / 2, levels.threshold_cycles, was);
  }
  levels.false_miss = share(count_from(levels.hit, levels.threshold_cycles), hits);
  levels.surely_missed_cycles = was;
  return levels;
}

bool are_alike(const Histogram& hits, const Histogram& behind, double overhead_cycles, double clock_share) {
  constexpr double by_chance = 0.01;
  const Mode near = whole_mode(hits), far = whole_mode(behind);
  const double own = near.centre - overhead_cycles, other = far.centre - overhead_cycles;
  const double apart = std::max(std::fabs(other - own), std::fabs(other / clock_share - own));
  return apart + far.error + near.error < (least_ratio - 1) * own && levels_of(hits, behind).doubt > by_chance &&
         levels_of(behind, hits).doubt > by_chance;
}

namespace {

// Second loads that are sooner than the first one of their line by half a level, and such as are later.
struct Changes {
  double sooner = 0, later = 0;
  double by_chance() const { return 3 * std::sqrt(sooner + later + 1); }
};

Changes changes_of(const std::vector<LoadPair>& pairs, double overhead_cycles) {
  Changes changes;
  for (const LoadPair& pair : pairs) {
    const double first = pair.first_cycles - overhead_cycles, second = pair.second_cycles - overhead_cycles;
    changes.sooner += first > half_a_level * second ? 1 : 0;
    changes.later += second > half_a_level * first ? 1 : 0;
  }
  return changes;
}

}  // namespace

std::size_t sooner_less_later(const std::vector<LoadPair>& pairs, double overhead_cycles) {
  const Changes changes = changes_of(pairs, overhead_cycles);
  return static_cast<std::size_t>(std::max(0.0, changes.sooner - changes.later));
}

bool show_no_hits(const std::vector<LoadPair>& pairs, double overhead_cycles, double kept) {
  // Of hits that are a level sooner than what lies behind, where lines lie at distances of 14 % (docs/domain.md).
  constexpr double sooner_less_later = 1.0 / 3;
  const Changes changes = changes_of(pairs, overhead_cycles);
  return kept * sooner_less_later * static_cast<double>(pairs.size()) > 2 * changes.by_chance() &&
         std::fabs(changes.sooner - changes.later) <= changes.by_chance();
}

bool are_alike_by_line(const std::vector<LoadPair>& pairs, double overhead_cycles) {
  constexpr double by_chance = 0.01, deviations = 3;
  constexpr std::size_t fewest = 32;
  if (pairs.size() < fewest) return false;
  Histogram first, second, near, far;
  for (const LoadPair& pair : pairs) add(first, pair.first_cycles), add(second, pair.second_cycles);
  // Second loads of lines whose first ones were swift, and of the others.
  const double middle = (quantile(first, 0.25).value_or(0) + quantile(first, 0.75).value_or(0)) / 2;
  std::vector<double> sooner;
  for (const LoadPair& pair : pairs) {
    add(pair.first_cycles <= middle ? near : far, pair.second_cycles);
    sooner.push_back(static_cast<double>(pair.first_cycles) - pair.second_cycles);
  }
  if (!levels_of(near, far).usable()) return false;
  const Changes changes = changes_of(pairs, overhead_cycles);
  std::sort(sooner.begin(), sooner.end());
  const auto n = static_cast<double>(pairs.size());
  const auto at = [&](double rank) { return sooner[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
  const double within = deviations * std::sqrt(n) / 2;  // of the median's rank
  const double apart = std::max(std::fabs(at(n / 2 - within)), std::fabs(at(n / 2 + within)));
  const double fastest = quantile(second, 0.01).value_or(0) - overhead_cycles;
  return apart < (least_ratio - 1) * fastest && changes.sooner - changes.later <= changes.by_chance() &&
         levels_of(second, first).doubt > by_chance && levels_of(first, second).doubt > by_chance;
}

DecidingCurve curve_of(const Levels& levels) {
  DecidingCurve curve = make_curve({}, "levels", {"latency as timed", "cycles", true}, share_axis("loads"));
  curve.series = {share_up_to("hits, by construction", levels.hit),
                  share_up_to("misses, by construction", levels.next)};
  if (levels.usable()) curve.change = levels.threshold_cycles;
  return curve;
}

}  // namespace gputopo::evidence
