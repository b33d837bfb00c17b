#include "evidence/held.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "change_point/random.hpp"
#include "evidence/estimates.hpp"
#include "evidence/footprint.hpp"
#include "evidence/vote.hpp"
#include "program/order.hpp"

namespace gputopo::evidence {
namespace {

// Lines replaced at random: after four rounds of twice the capacity one line in a thousand is older than they are. Two
// more, before the others or of them, come to lines in another order: of rounds that are all alike a tree of bits may
// keep for good what none of them asks for.
constexpr std::uint32_t walked_rounds = 4;
constexpr std::uint32_t rounds_in_order = 2;  // of these, where the others needn't be
constexpr std::uint32_t rounds_in_no_order = 2;
constexpr double most_factor = 16;
constexpr std::size_t most_at_once = 2048;             // programs in a batch: each has a record of its own
constexpr std::uint64_t most_held_loads = 12'000'000;  // of one count: seconds of a simulator, milliseconds of a GPU

// Lines looked for in one go, the newest first: each that is missing pushes one out, which is an older one of its set
// where the oldest goes, else any: of one line in 64 looked for together the last miss 0.8 %, all of them 0.4 %.
std::uint64_t looked_for_together(std::uint64_t capacity_lines) {
  return std::max<std::uint64_t>(1, capacity_lines / 64);
}

// What is looked for together, in a program of its own.
struct Together {
  std::uint64_t first = 0, lines = 0, apart = 1;
  std::uint64_t newer = 0;  // lines walked after it
  bool oldest_first = false;
};

struct Plan {
  std::uint64_t lines = 0;    // of the footprint
  double capacity_lines = 0;  // within a fifth
  std::uint64_t at_once = 1;
  std::uint64_t apart = 1;  // those looked for together; 1: neighbours
  // Looked for in one go, the oldest first, so that those in the cache in front are pushed out of that by older ones.
  std::uint64_t newest = 0;
  bool is_downwards = false;  // as code is walked
  std::uint32_t looks = held_fewest_looks;
  bool in_any_order = false;  // else each look comes after the one at the same distance
  std::uint64_t older() const { return lines - newest; }
  std::uint64_t programs_of_older() const { return apart > 1 ? apart : (older() + at_once - 1) / at_once; }
  std::uint64_t programs() const { return programs_of_older() + (newest == 0 ? 0 : 1); }
  std::uint64_t loads() const { return programs() * walked_rounds * lines * looks; }
  // The last one is of the newest lines.
  Together stretch(std::uint64_t i) const {
    if (i == programs_of_older()) return {is_downwards ? 0 : older(), newest, 1, 0, true};
    const std::uint64_t first_older = is_downwards ? newest : 0;
    if (apart > 1) return {first_older + i, (older() - 1 - i) / apart + 1, apart, newest, false};
    const std::uint64_t before = i * at_once, wanted = std::min(at_once, older() - before);
    const std::uint64_t newer = lines - before - wanted;
    return {is_downwards ? newer : before, wanted, 1, newer, false};
  }
};

bool is_prime(std::uint64_t n) {
  for (std::uint64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

// Neighbours may fall into the same few ways, where one that is missing pushes the next one out sooner than any: lines
// a prime apart fall into sets of their own, whatever their number.
void look_all_over(Plan& plan) {
  if (plan.at_once == 1 || plan.programs_of_older() == 1) return;
  plan.apart = plan.programs_of_older();
  while (!is_prime(plan.apart)) ++plan.apart;
}

// Half of the lines at most: with more of them in one go what is missing would push out what is looked for later.
void look_past_front(Plan& plan, const CacheFacts& cache) {
  constexpr std::uint64_t in_front_and_older = 2;
  const std::uint64_t in_front = cache.front_capacity_bytes / cache.front_line_bytes;
  const auto newest = std::min(in_front_and_older * in_front, static_cast<std::uint64_t>(plan.capacity_lines / 2));
  if (newest > in_front && newest < plan.lines) plan.newest = newest;
}

constexpr double surely = 3;  // standard errors: nine sizes in a discovery, none of which may be wrong

Plan plan_of(std::uint64_t capacity_lines, double factor, std::uint32_t looks) {
  Plan plan;
  plan.capacity_lines = static_cast<double>(capacity_lines);
  plan.lines = static_cast<std::uint64_t>(plan.capacity_lines * factor);
  plan.at_once = looked_for_together(capacity_lines);
  plan.looks = looks;
  while (plan.looks > 3 && plan.loads() > most_held_loads) --plan.looks;
  return plan;
}

// Pieces of a line that the cache in front asks for by themselves: so many rounds go to other ones.
std::uint64_t pieces_of_line(const CacheFacts& cache) {
  return cache.front_line_bytes == 0 ? 1 : std::max<std::uint64_t>(1, cache.stride() / cache.front_line_bytes);
}

program::Program look_program(Session& session, const CacheFacts& cache, Scope isolation, const Plan& plan,
                              const Together& stretch) {
  program::Program p = make_program(fmt::format("{} lines of {} as they are held", cache.path.id, plan.lines),
                                    session.info(), cache.path.slot);
  p.isolation = isolation;
  // By a warp but in the last rounds, which leave a cache as it always is: so it fits between two turns of other
  // processes. One lane where kernels read constants of their own, and where a cache in front answers what all lanes
  // ask for.
  const bool in_order = kernels_read(cache.path.slot) || cache.front_line_bytes != 0;
  FootprintSpec spec;
  spec.path = cache.path;
  spec.stride_bytes = cache.stride();
  spec.front_line_bytes = cache.front_line_bytes;
  spec.warm_laps = in_order ? walked_rounds : rounds_in_order;
  const std::uint64_t bytes = plan.lines * cache.stride();
  if (cache.path.slot != slot_code) {
    program::Walk at_first = make_walk(cache.path, bytes, cache.stride(), rounds_in_no_order);
    at_first.order = program::Order::shuffled;
    p.phases = {in_order ? at_first : by_one_warp(at_first)};
  }
  program::Walk walk = rounds_of(spec, bytes, 1);
  const std::uint64_t turns = pieces_of_line(cache);
  if (turns > 1) {
    // All that a line is asked for by, of every line, and one piece more: it takes so many loads until each was walked
    // once, and the last round comes to all lines from the first on.
    walk.footprint_bytes += 2 * walk.stride_bytes;
    const std::uint64_t all = program::positions(walk);
    walk.lead_loads = (walk.lead_loads + all - 1) / all * all;
  }
  const std::uint64_t last = stretch.first + (stretch.lines - 1) * stretch.apart, step = turns * stretch.apart;
  const bool is_upwards = stretch.oldest_first && !plan.is_downwards;
  walk.tail_first = (is_upwards ? stretch.first : last) * turns;
  walk.tail_step = is_upwards ? step : program::positions(walk) - step;
  walk.loads_per_lap = walk.lead_loads + stretch.lines;
  p.phases.emplace_back(walk);
  return p;
}

// Of a footprint of `lines`: how many were found near, and how far off that may be.
struct Counted {
  double lines = 0, near = 0, error = 0;
  double scatter = 0;   // the part of the error that more looks make smaller
  double in_front = 0;  // of those near, may be in the cache in front alone
  bool exact = false;   // every line was there always or never, but for strangers
  std::uint64_t samples = 0;
};

// Looks at one stretch differ from the middle one by strangers, who hide lines, and by loads of the next level that
// look like hits: as many as the levels say at most, or the cache itself holds lines now and then, which no vote
// settles. How many of these there are they say themselves; where it is fewer than loads that were known to miss, some
// lines look like hits whenever they miss, by where they lie, and no vote settles that either. By the program, of which
// that of the newest lines is one of its own.
struct Votes {
  Vote each, newest;
};

std::optional<Votes> votes_of(const std::vector<std::vector<double>>& hits_by_stretch, const Levels& levels,
                              const Plan& plan) {
  double held = 0, fewer = 0, more = 0;
  for (const std::vector<double>& hits : hits_by_stretch) {
    const double middle = median(hits);
    held += middle;
    for (const double h : hits) (h < middle ? fewer : more) += std::fabs(h - middle);
  }
  const auto lines = static_cast<double>(plan.lines), looks = static_cast<double>(plan.looks);
  const auto together = static_cast<double>(plan.at_once), newest = static_cast<double>(plan.newest);
  const auto places = static_cast<double>(plan.programs_of_older());
  // Passed by chance now and then, which costs more looks; a cache that seldom lets go of a line must not pass for one
  // that never does.
  constexpr double deviations = 2;
  const auto too_many = [](double seen, double expected) {
    return seen > expected + deviations * std::sqrt(expected) + 1;
  };
  if (too_many(fewer, held * looks * levels.false_miss) || too_many(more, (lines - held) * looks * levels.false_hit))
    return std::nullopt;
  const double wavering = more / ((lines - held) * looks + 1);
  if (too_many(levels.false_hit * levels.sure_misses, wavering * levels.sure_misses)) return std::nullopt;
  const double hidden = (fewer + 1) / (held * looks + 2), faked = (more + 1) / ((lines - held) * looks + 2);
  Votes votes{best_vote(plan.looks, places, together * hidden, places, together * faked), {}};
  if (plan.newest != 0) {
    const double there = median(hits_by_stretch.back());
    votes.newest = best_vote(plan.looks, 1, there * hidden, 1, (newest - there) * faked);
  }
  return votes;
}

Counted judge(const std::vector<std::vector<double>>& hits_by_stretch, const CacheFacts& cache, const Plan& plan) {
  constexpr double unlikely = 0.05;  // of one line of all: intervals are of 95 %
  const auto looks = static_cast<double>(plan.looks);
  const double false_miss = cache.levels.false_miss, false_hit = cache.levels.false_hit;
  const std::optional<Votes> votes = votes_of(hits_by_stretch, cache.levels, plan);
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
  // What looks like a hit is known from few loads, of which none or one did: there may be none or twice as many.
  const double known = std::sqrt(false_hit * (1 - false_hit) / std::max(1.0, cache.levels.sure_misses));
  c.scatter = c.exact ? 0 : surely * std::sqrt(squares);
  // What is missing pushes out what is looked for after it (looked_for_together).
  const double pushed = plan.at_once > 1 ? 0.004 * c.near : 0;
  c.error = c.exact ? 0 : std::hypot(c.scatter, (c.lines - c.near) * std::min(false_hit, surely * known)) + pushed;
  return c;
}

// Where looks at one line differ: as many as make the count's scatter as small as what tells sizes apart, if there is
// time. Two counts together are half a line off then, or a hundredth.
std::uint32_t looks_for(const Plan& plan, const Counted& few) {
  const double wanted = std::max(0.7, 0.015 * few.near), off = few.scatter / wanted;
  Plan more = plan;
  more.looks = 1;
  const double most = static_cast<double>(most_held_loads) / static_cast<double>(more.loads());
  return static_cast<std::uint32_t>(std::min(most, std::ceil(plan.looks * off * off)));
}

struct Capacity {
  double lines = 0, error = 0;
  double most = 0;  // the interval's upper end
  bool steady = false;
  bool exact = false;
  bool agreed = false;  // counts differ by no more than they may by chance
};

// The mean of counts that agree, weighted by their certainty. Those that don't are as far off as they differ: looks at
// a cache that is never twice the same say what it holds, those at one that goes round in a way of its own need not.
Capacity mean_count(std::span<const Counted> counts) {
  double weights = 0, sum = 0;
  for (const Counted& c : counts) {
    const double weight = 1 / std::max(1e-6, c.error * c.error);
    weights += weight;
    sum += weight * c.near;
  }
  const bool exact = std::all_of(counts.begin(), counts.end(), [](const Counted& c) { return c.exact; });
  Capacity mean{
      .lines = sum / weights, .error = std::max(1 / std::sqrt(weights), 0.008 * sum / weights), .steady = true};
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

// Of ever larger footprints; a cache's sets are full when more doesn't hold more.
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

// Lines found, and how many of these the cache in front answered: one of the newest, as many as that one holds, may or
// may not be in this one as well, unless older ones were looked for before it; of the others its answer says nothing,
// and they are as those looked for together, or at other times.
struct Looked {
  std::optional<double> held;
  double in_front = 0;
  double off = 0;  // by which more or fewer may have been held before these were looked for
};

Looked look_at(const Histogram& timed, const CacheFacts& cache, const Together& stretch, double capacity_lines) {
  const auto looked = static_cast<double>(total(timed));
  const auto missing = static_cast<double>(count_from(timed, cache.levels.threshold_cycles));
  const auto told = static_cast<double>(count_from(timed, cache.front_threshold_cycles));
  const bool is_new = !stretch.oldest_first && stretch.newer * cache.front_line_bytes <= cache.front_capacity_bytes;
  if (is_new && told < looked) return {looked - missing, looked - told};
  if (told == 0) return {};
  const double lost = missing / told;
  // What is newer is held as surely as these or always; what is missing pushes any line out or an older one.
  const double most = (looked - told) * lost + missing * looked / 2 / capacity_lines;
  const double off = stretch.oldest_first ? most / 2 : 0;
  return {looked * (1 - lost) + off, 0, off};
}

// Where nothing was told at some times, as at the others; where never, all may be in front alone, as many as are
// added to `in_front`.
std::vector<double> held_each_time(const std::vector<std::optional<double>>& looks, std::uint64_t lines,
                                   double& in_front) {
  std::vector<double> told;
  for (const auto& held : looks)
    if (held) told.push_back(*held);
  if (told.empty()) in_front += static_cast<double>(lines * looks.size());
  const double otherwise = told.empty() ? static_cast<double>(lines) : median(told);
  std::vector<double> all;
  for (const auto& held : looks) all.push_back(held.value_or(otherwise));
  return all;
}

// Loads later than nearly all known hits, and under the threshold all the same: more than there are of these by chance
// (four deviations) are misses. Hits of an SM's own cache are as long wherever it lies; misses, from some places, may
// be as short as late hits.
double short_misses(const Levels& levels, const Histogram& looks) {
  constexpr double nearly_all = 0.95, deviations = 4;
  const double from = quantile(levels.hit, nearly_all).value_or(0) + 0.5;
  const auto late = [&](const Histogram& h) {
    return static_cast<double>(total(between(h, from, levels.threshold_cycles)));
  };
  const auto early = [&](const Histogram& h) { return static_cast<double>(total(between(h, 0, from))); };
  const double late_hits = late(levels.hit) + 1, share = early(looks) / std::max(1.0, early(levels.hit));
  const double misses = late(looks) - late_hits * share;
  return misses > deviations * std::sqrt(late(looks) + late_hits * share * share) ? misses : 0;
}

// How many hits look like misses is known from so many loads, and what of them is more than strangers may be lines that
// known hits had lost: all counts are as far off by that.
double unsure_share(const Levels& levels) {
  const double hits = std::max(1.0, static_cast<double>(total(levels.hit)));
  const double known = surely * std::sqrt(levels.false_miss * (1 - levels.false_miss) / hits);
  return std::hypot(known, std::max(0.0, levels.false_miss - a_stranger)) / levels.told_apart();
}

// A cache holds whole lines: those within its error, or the two around it. Without those of a cache in front.
Interval whole_lines(const Capacity& c, double in_front, double line_bytes) {
  const auto [low, high] = std::minmax({std::ceil(c.lines - c.error), std::floor(c.most)});
  return {std::max(0.0, std::floor(low - in_front)) * line_bytes, high * line_bytes};
}

// The stretch of each look. Not in order: a cache that isn't emptied in between must not come to the same line in step
// with the looks. What goes round in a way of its own may be in step with any regular order, what replaces at random
// with none.
std::vector<std::uint64_t> looks_of(const Plan& plan) {
  const std::uint64_t all = plan.programs() * plan.looks;
  const program::Stepping order = program::stepping(program::Order::shuffled, plan.lines, all);
  std::vector<std::uint64_t> stretches;
  for (std::uint64_t at = order.first; stretches.size() < all; at = program::advance(at, order.step, all))
    stretches.push_back(at / plan.looks);
  if (plan.in_any_order) change_point::Random(plan.lines).shuffle(stretches);
  return stretches;
}

Expected<Counted> count(Session& session, const CacheFacts& cache, Scope isolation, const Plan& plan) {
  const std::vector<std::uint64_t> looks = looks_of(plan);
  std::vector<std::vector<std::optional<double>>> seen(plan.programs());
  Histogram all;
  double in_front = 0, off = 0;
  for (std::size_t done = 0; done < looks.size();) {
    program::Batch batch;
    const auto stretches = std::span(looks).subspan(done, std::min(most_at_once, looks.size() - done));
    done += stretches.size();
    for (const std::uint64_t i : stretches)
      batch.push_back(look_program(session, cache, isolation, plan, plan.stretch(i)));
    auto traces = session.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = 0; i < traces->size(); ++i) {
      const Histogram& timed = (*traces)[i].phases.back().histogram;
      const Looked looked = look_at(timed, cache, plan.stretch(stretches[i]), plan.capacity_lines);
      seen[stretches[i]].push_back(looked.held);
      all = merged(all, timed);
      in_front += looked.in_front;
      off += looked.off;
    }
  }
  std::vector<std::vector<double>> hits;
  for (std::size_t i = 0; i < seen.size(); ++i)
    hits.push_back(held_each_time(seen[i], plan.stretch(i).lines, in_front));
  Counted counted = judge(hits, cache, plan);
  const double misses = isolation == Scope::sm ? short_misses(cache.levels, all) / plan.looks : 0;
  if (misses > 0) {
    counted.exact = false;
    counted.near = std::max(0.0, counted.near - misses);
    counted.error += misses / 2;
  }
  counted.in_front = in_front / plan.looks;
  if (!counted.exact) counted.error += off / plan.looks;
  return counted;
}

}  // namespace

Expected<Held> count_held(Session& session, const CacheFacts& cache, std::uint64_t about_bytes, Scope isolation,
                          Care care) {
  const std::uint64_t about = std::max<std::uint64_t>(1, about_bytes / cache.stride());
  const std::uint64_t one_more = cache.front_line_bytes == 0 ? 0 : 1;  // (look_program)
  const std::uint64_t room = room_of(session.info(), cache.path.slot) / cache.stride() - one_more;
  const auto line = static_cast<double>(cache.stride());
  Held held;
  std::vector<Counted> counts;
  // Where lines are few per set some sets stay empty for long; large caches have no time for that, and others no room.
  constexpr std::uint64_t many = 512;
  const bool is_tight = about > many || 4 * about > room;
  const double growth = about > many ? 1.4 : is_tight ? 4.0 / 3 : 2;
  for (double factor = is_tight ? 1.5 : 2; factor <= most_factor && !held.steady; factor *= growth) {
    Plan plan = plan_of(about, factor, held_fewest_looks);
    const bool is_last = plan.lines > room;
    const double least_lines = counts.empty() ? 1.125 * static_cast<double>(about) : 1.2 * counts.back().lines;
    if (is_last && static_cast<double>(room) < least_lines) break;
    plan.lines = std::min(plan.lines, room);
    if (plan.loads() > most_held_loads) break;
    plan.is_downwards = cache.path.slot == slot_code && pieces_of_line(cache) == 1;
    if (cache.front_line_bytes != 0) look_past_front(plan, cache);
    plan.in_any_order = care == Care::many_looks;
    const bool is_told_apart = cache.front_line_bytes == 0 || plan.newest != 0;  // what is in front from older lines
    if (plan.in_any_order && is_told_apart) look_all_over(plan);
    auto counted = count(session, cache, isolation, plan);
    if (counted && !counted->exact && care == Care::many_looks) {
      const std::uint32_t wanted = looks_for(plan, *counted);
      plan.looks = std::max(wanted, plan.looks);
      if (wanted > held_fewest_looks) counted = count(session, cache, isolation, plan);
    }
    if (!counted) return tl::unexpected<Error>(counted.error());
    held.samples += counted->samples;
    held.walked_bytes = static_cast<double>(plan.lines) * line;
    counts.push_back(*counted);
    held.fewest_bytes = std::min(held.fewest_bytes, (counted->near + counted->error) * line);
    if (is_last) factor = most_factor;
    Capacity capacity = when_full(counts);
    if (!capacity.exact) {
      const double with_hidden = std::hypot(capacity.error, capacity.lines * unsure_share(cache.levels));
      capacity.most +=
          with_hidden - capacity.error + (pieces_of_line(cache) > 1 ? 1 : 0);  // (look_program: one piece more)
      capacity.error = with_hidden;
    }
    held.bytes = capacity.lines * line;
    held.interval = whole_lines(capacity, counted->in_front, line);
    held.steady = capacity.steady;
    held.exact = capacity.exact && counted->in_front == 0;
    held.is_sample = care == Care::many_looks && capacity.agreed && !held.exact;
  }
  return held;
}

}  // namespace gputopo::evidence
