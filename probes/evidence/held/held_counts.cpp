#include "evidence/held/held_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "evidence/inference/estimates.hpp"
#include "evidence/inference/hidden_level.hpp"
#include "evidence/inference/vote.hpp"

namespace gputopo::evidence::held {
namespace {

// Standard errors: one size of 370 lies beyond three of them, one of 16,000 beyond four, and a discovery states nine.
constexpr double surely = 4;

// Looks at one stretch differ from the middle one by strangers, who hide lines, and by loads of the next level that
// look like hits: as many as the levels say at most, or the cache itself holds lines now and then, which no vote
// settles. How many of these there are they say themselves; where it is fewer than loads that were known to miss, some
// lines look like hits whenever they miss, by where they lie, and no vote settles that either. By the program, of which
// that of the newest lines is one of its own.
struct Votes {
  Vote each, newest;
};

struct Wavering {
  double held = 0, fewer = 0, more = 0;
};

Wavering wavering_of(const std::vector<std::vector<double>>& hits_by_stretch) {
  Wavering w;
  for (const std::vector<double>& hits : hits_by_stretch) {
    const double middle = median(hits);
    w.held += middle;
    for (const double h : hits) (h < middle ? w.fewer : w.more) += std::fabs(h - middle);
  }
  return w;
}

// Passed by chance now and then, which costs more looks; a cache that seldom lets go of a line must not pass for one
// that never does.
bool too_many(double seen, double expected) {
  constexpr double deviations = 2;
  return seen > expected + deviations * std::sqrt(expected) + 1;
}

bool waver_less_than_known(const Wavering& w, const Levels& levels, const Plan& plan) {
  const double missing = (static_cast<double>(plan.lines) - w.held) * static_cast<double>(plan.looks);
  return too_many(levels.false_hit * levels.sure_misses, w.more / (missing + 1) * levels.sure_misses);
}

std::optional<Votes> votes_of(const Wavering& wavering, const std::vector<std::vector<double>>& hits_by_stretch,
                              const Levels& levels, const Plan& plan) {
  const auto [held, fewer, more] = wavering;
  const auto lines = static_cast<double>(plan.lines), looks = static_cast<double>(plan.looks);
  const auto together = static_cast<double>(plan.at_once), newest = static_cast<double>(plan.newest);
  const auto places = static_cast<double>(plan.programs_of_older());
  if (too_many(fewer, held * looks * levels.false_miss) || too_many(more, (lines - held) * looks * levels.false_hit))
    return std::nullopt;
  if (waver_less_than_known(wavering, levels, plan)) return std::nullopt;
  const double hidden = (fewer + 1) / (held * looks + 2), faked = (more + 1) / ((lines - held) * looks + 2);
  Votes votes{best_vote(plan.looks, places, together * hidden, places, together * faked), {}};
  if (plan.newest != 0) {
    const double there = median(hits_by_stretch.back());
    votes.newest = best_vote(plan.looks, 1, there * hidden, 1, (newest - there) * faked);
  }
  return votes;
}

// The mean of counts that agree, weighted by their certainty, which makes smaller what isn't the same of each. Those
// that don't are as far off as they differ: looks at a cache that is never twice the same say what it holds, those at
// one that goes round in a way of its own need not.
Capacity mean_count(std::span<const Counted> counts) {
  double weights = 0, sum = 0, faked = 0, own = 0;
  for (const Counted& c : counts) {
    const double weight = 1 / std::max(1e-6, c.error * c.error);
    weights += weight;
    sum += weight * c.near;
    faked += weight * c.faked;
    own += weight * weight * std::max(1e-6, c.error * c.error - c.faked * c.faked);
  }
  const bool exact = std::all_of(counts.begin(), counts.end(), [](const Counted& c) { return c.exact; });
  const double error = std::hypot(std::sqrt(own), faked) / weights;
  Capacity mean{.lines = sum / weights, .error = std::max(error, 0.008 * sum / weights), .steady = true};
  if (exact) mean.error = 0;
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end(),
                                                  [](const Counted& x, const Counted& y) { return x.near < y.near; });
  mean.agreed = most->near - fewest->near <= std::hypot(fewest->error, most->error);
  for (const Counted& c : counts)
    mean.steady = mean.steady && std::fabs(c.near - mean.lines) < c.error + mean.error + 0.5;
  if (!mean.agreed) mean.error = std::max(mean.error, most->near - fewest->near);
  mean.exact = exact && mean.steady;
  mean.most = mean.lines + mean.error;
  // Little more than fits may have left room in some sets, which its count then lacks: of that the larger one says.
  constexpr double enough_for_all_sets = 1.5;
  if (counts.front().lines < enough_for_all_sets * mean.lines && !mean.exact)
    mean.most = std::max(mean.most, counts.back().near + counts.back().error);
  return mean;
}

// Misses that look like hits add to what is near in step with the footprint: of two footprints, what there'd be at
// none.
Counted at_none(const Counted& a, const Counted& b) {
  Counted none;
  const double slope = std::clamp((b.near - a.near) / (b.lines - a.lines), 0.0, 0.5);
  const double error = std::hypot(a.error, b.error) / (b.lines - a.lines);
  none.near = (a.near - slope * a.lines) / (1 - slope);
  none.error = (a.error + error * a.lines) / (1 - slope);
  return none;
}

// Loads under the threshold that take longer than nearly all known hits, or less: more than there are of these by
// chance (four deviations) are misses. Hits of an SM's own cache are as long wherever it lies; misses, from some
// places, may be as short as hits, or shorter.
double unlike_hits(const CacheFacts& cache, const Histogram& looks) {
  constexpr double nearly_none = 0.025, deviations = 4;
  const Levels& levels = cache.levels;
  // Of strangers there may be more than nearly none.
  const Histogram hits = between(levels.hit, 0, levels.threshold_cycles);
  const double from = quantile(hits, nearly_none).value_or(0) - 0.5;
  const double to = quantile(hits, 1 - nearly_none).value_or(0) + 0.5;
  const auto within = [](const Histogram& h, double low, double high) {
    return static_cast<double>(total(between(h, low, high)));
  };
  const auto unlike = [&](const Histogram& h) {
    return within(h, cache.front_threshold_cycles, from) + within(h, to, levels.threshold_cycles);
  };
  const double unlike_known = unlike(levels.hit) + 1;
  const double share = within(looks, from, to) / std::max(1.0, within(levels.hit, from, to));
  const double misses = unlike(looks) - unlike_known * share;
  return misses > deviations * std::sqrt(unlike(looks) + unlike_known * share * share) ? misses : 0;
}

// How many hits look like misses is known from so many loads, and what of them is more than strangers may be lines that
// known hits had lost: all counts are as far off by that.
double unsure_share(const Levels& levels) {
  const double hits = std::max(1.0, static_cast<double>(total(levels.hit)));
  const double known = surely * std::sqrt(levels.false_miss * (1 - levels.false_miss) / hits);
  return std::hypot(known, std::max(0.0, levels.false_miss - a_stranger)) / levels.told_apart();
}

}  // namespace

Counted judge(const std::vector<std::vector<double>>& hits_by_stretch, const CacheFacts& cache, const Plan& plan) {
  constexpr double unlikely = 0.05;  // of one line of all: intervals are of 95 %
  const auto looks = static_cast<double>(plan.looks);
  const double false_miss = cache.levels.false_miss, false_hit = cache.levels.false_hit;
  const Wavering wavering = wavering_of(hits_by_stretch);
  const std::optional<Votes> votes = votes_of(wavering, hits_by_stretch, cache.levels, plan);
  double voted = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < hits_by_stretch.size(); ++i) {
    std::vector<double> hits = hits_by_stretch[i];
    std::sort(hits.begin(), hits.end(), std::greater<>());
    const double mean = std::accumulate(hits.begin(), hits.end(), 0.0) / looks;
    if (votes) voted += hits[(plan.stretch(i).oldest_first ? votes->newest : votes->each).enough - 1];
    sum += mean;
    for (const double h : hits) squares += (h - mean) * (h - mean) / (looks - 1) / looks;
  }
  Counted c;
  c.lines = static_cast<double>(plan.lines);
  c.samples = plan.lines * plan.looks;
  c.exact = votes && votes->each.wrong + votes->newest.wrong < unlikely;
  c.near = c.exact ? voted : std::max(0.0, sum - c.lines * false_hit) / (1 - false_miss - false_hit);
  // What looks like a hit is known from few loads, of which none or one did: there may be none or twice as many. Where
  // looks don't waver so often, known misses may have been lines that weren't lost, and none of these is a miss.
  const double known = std::sqrt(false_hit * (1 - false_hit) / std::max(1.0, cache.levels.sure_misses));
  const bool may_be_none = waver_less_than_known(wavering, cache.levels, plan);
  c.scatter = c.exact ? 0 : surely * std::sqrt(squares);
  c.faked = c.exact ? 0 : (c.lines - c.near) * (may_be_none ? false_hit : std::min(false_hit, surely * known));
  // What is missing pushes out what is looked for after it (looked_for_together).
  const double pushed = plan.at_once > 1 ? 0.004 * c.near : 0;
  c.error = c.exact ? 0 : std::hypot(c.scatter, c.faked) + pushed;
  return c;
}

void take_off_short_misses(Counted& counted, const CacheFacts& cache, const Histogram& seen, std::uint32_t looks) {
  const Histogram behind_front = between(seen, cache.front_threshold_cycles, 1e9);
  const double short_ones = unlike_hits(cache, seen), misses = short_ones / looks;
  const double more = (most_hidden_loads(cache.levels, behind_front) - short_ones) / looks;
  if (misses <= 0 && more <= 0) return;
  counted.exact = false;
  counted.near = std::max(0.0, counted.near - misses - std::max(0.0, more) / 2);
  counted.error += misses / 2 + std::max(0.0, more) / 2;
}

std::uint32_t looks_for(const Plan& plan, const Counted& few) {
  const double wanted = surely * std::max(0.7 / 3, 0.005 * few.near), off = few.scatter / wanted;
  Plan more = plan;
  more.looks = 1;
  const double most = static_cast<double>(most_loads) / static_cast<double>(more.loads());
  return static_cast<std::uint32_t>(std::min(most, std::ceil(plan.looks * off * off)));
}

Capacity when_full(std::span<const Counted> counts) {
  if (counts.size() < 2)
    return {.lines = counts[0].near, .error = counts[0].error, .most = counts[0].near + counts[0].error};
  if (const Capacity same = mean_count(counts.last(2)); same.steady || counts.size() < 3) return same;
  const std::array<Counted, 2> pairs{at_none(counts[counts.size() - 3], counts[counts.size() - 2]),
                                     at_none(counts[counts.size() - 2], counts.back())};
  Capacity without = mean_count(pairs);
  without.agreed = false;
  return without;
}

void widen_by_unsure(Capacity& capacity, const Levels& levels, double more_lines) {
  if (capacity.exact) return;
  const double error = std::hypot(capacity.error, capacity.lines * unsure_share(levels));
  capacity.most += error - capacity.error + more_lines;
  capacity.error = error;
}

Capacity likely(Capacity capacity) {
  constexpr double share = 3 / surely;
  capacity.most = capacity.lines + share * (capacity.most - capacity.lines);
  capacity.error *= share;
  return capacity;
}

Interval interval_of(const Capacity& c, double in_front, double line_bytes) {
  constexpr double rounding = 1e-6;
  const double whole = std::ceil(c.lines - c.error - rounding);
  const double least = std::min(whole, std::floor(c.most + rounding));
  return {std::max(0.0, std::floor(least - in_front)) * line_bytes, std::max(whole, c.most) * line_bytes};
}

}  // namespace gputopo::evidence::held
