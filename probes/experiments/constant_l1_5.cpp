// Is there a cache between the constant L1 and the L2 (which some call L1.5), and what do its hits take? Positive
// evidence is three levels: constants that the L1 holds, constants that it just lost, and constants that were pushed
// out further, by less than the L2 holds, so that the L2 still has them. A second level that nothing can be pushed out
// of is the L2.
#include <algorithm>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/inference/period.hpp"
#include "evidence/lines/emptied_l2.hpp"
#include "evidence/lines/lost_lines.hpp"
#include "evidence/lines/pushed_constants.hpp"
#include "evidence/lines/pushed_further.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
constexpr CachePath path = constant_l1_5_path;

struct SecondLevel {
  Histogram loads;
  double strangers = 0;  // of the L1's hits that are expected among them
};

Expected<SecondLevel> time_second_level(Session& session, const CacheFacts& l1) {
  FootprintSpec circle;
  circle.path = path;
  circle.stride_bytes = l1.asked_bytes();
  circle.isolation = Scope::gpu;
  circle.warm_laps = settling_laps;
  circle.timed_laps = 16;
  program::Program p = footprint_program(session.info(), circle, l1.circle_bytes());
  p.agents = {{0, 0}};
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  const Histogram all = recorded_histogram(traces->front());
  return SecondLevel{between(all, l1.levels.threshold_cycles, 1e9),
                     l1.levels.false_miss * static_cast<double>(total(all))};
}

// Whether the L2 serves these constants: then they take longer once other loads pushed out all that it had, and don't
// after as many loads that leave it as it is. Caches in front of it see neither. False also where that can't be told,
// and where some took longer than `level`, if given, before: it isn't all of what serves those then.
Expected<bool> are_served_by_l2(Session& session, const CacheFacts& front, std::uint64_t every_line,
                                const CacheFacts* l2, const Eviction& e, const Histogram* level = nullptr) {
  const auto timed = time_around_emptying(session, front, every_line, l2, e);
  if (!timed) return tl::unexpected<Error>(timed.error());
  if (!*timed) return false;
  if (level != nullptr && hold_slower_loads(*level, (*timed)->kept, front.overhead_cycles)) return false;
  return levels_of((*timed)->kept, (*timed)->lost).usable();
}

// Whether what the L1 just lost takes no longer once the L2 lost all that it had: another cache has it then. False also
// where that can't be told.
Expected<bool> are_kept_without_l2(Session& session, const CacheFacts& l1, const CacheFacts* l2) {
  const auto timed = time_around_emptying(session, l1, l1.asked_bytes(), l2, {l1.circle_bytes(), 0, 0, 0});
  if (!timed) return tl::unexpected<Error>(timed.error());
  return *timed && !(*timed)->kept.empty() && !(*timed)->lost.empty() &&
         are_alike((*timed)->kept, (*timed)->lost, l1.overhead_cycles, session.clock_share());
}

// The fastest level of a sample and what lies around it: the loads that one level served.
Histogram one_level(const SecondLevel& sample) {
  const Mode mode = lowest_mode(sample.loads, sample.strangers);
  const double reach = 3 * (mode.high_quartile - mode.low_quartile) + 8;
  return between(sample.loads, mode.low_quartile - reach, mode.high_quartile + reach);
}

// Hits of one level alone leave strangers out. How many there are the hits of the L1 in front say, which are as far
// from what makes them so slow as these.
void count_strangers(const Levels& l1, double hit_cycles, Levels& levels) {
  const double closer = hit_cycles - undisturbed(l1.hit).value_or(0);
  const auto slow = static_cast<double>(count_from(l1.hit, levels.threshold_cycles - closer));
  levels.false_miss =
      std::max(levels.false_miss, slow / static_cast<double>(std::max<std::uint64_t>(1, total(l1.hit))));
}

// What is known of the constant L1 when it is needed; else why not.
std::string why_open(const Session& session, const Findings& findings, const CacheFacts* l1) {
  if (l1 == nullptr || l1->capacity_bytes == 0 || 2 * l1->capacity_bytes > session.info().constant_bytes_per_module)
    return "needs the size of the constant L1";
  return findings.others_fill_l2 ? "another program fills the L2: what constants that it lost take is no L2's latency"
                                 : "";
}

// What tells constants that the L1 lost from those that were pushed out. Those are few, and all of one place: others
// may be in a nearer slice, or where these `may_be_far` all, near.
Levels levels_behind(const CacheFacts& l1, const Histogram& second, double hit_cycles, const PushedOut& out,
                     bool may_be_far) {
  Levels levels = graded_levels(second, out.graded, l1.overhead_cycles);
  // All of the circle that isn't a stranger is a hit, be it near or far.
  if (levels.usable())
    levels = graded_levels(between(second, 0, levels.threshold_cycles), out.graded, l1.overhead_cycles);
  if (levels.usable()) levels = close_to_hits(levels, l1.overhead_cycles, !may_be_far);
  count_strangers(l1.levels, hit_cycles, levels);
  return levels;
}

// Nothing is slower than what the L1 just lost (`second`): that is the L2, or a cache too large to push anything out
// of, or one that others have emptied already.
Expected<void> state_one_level(Session& session, Findings& findings, const Histogram& second, const PushedOut& out,
                               bool alike) {
  constexpr std::uint64_t largest = 128 << 10;  // (docs/domain.md)
  // Of what half as much again came after, even random replacement keeps less than a quarter (e^-1.5).
  constexpr std::uint64_t larger_than_any = largest * 3 / 2;
  Memory& memory = findings.memory(path.id);
  const CacheFacts& l1 = *findings.cache("constant_l1");
  auto delayed = are_delayed_by_line(session, l1, second);
  if (!delayed) return tl::unexpected<Error>(delayed.error());
  if (findings.others_delay_loads || *delayed) {
    constexpr std::string_view others =
        "another program runs at the same time and may push out what a cache behind the L1 brought in";
    set_open(memory, "levels", others);
    bound_above(findings.memory("constant_l1").attributes["miss_penalty"], others);
    return {};
  }
  // Code may pass another cache.
  const std::uint64_t constants = out.last.bytes(session.info().constant_bytes_per_module) - out.last.code_bytes;
  const std::uint64_t kibi = constants >> 10;
  if (alike && kibi << 10 >= larger_than_any) {
    set_absent(
        memory,
        fmt::format("constants that miss L1 take as long behind {} KiB of others: no cache between keeps them", kibi));
    return {};
  }
  auto by_l2 =
      are_served_by_l2(session, l1, l1.asked_bytes(), findings.cache("l2"), {l1.circle_bytes(), 0, 0, 0}, &second);
  if (!by_l2) return tl::unexpected<Error>(by_l2.error());
  if (*by_l2)
    set_absent(memory, "constants that miss L1 come from the L2: once it lost them they take longer");
  else
    set_open(memory, "levels",
             fmt::format("constants that miss L1 can't be told to be pushed any further by {} KiB", kibi));
  return {};
}

// About one line in sixteen is lost of so many times as much, were it of one way and a hash.
constexpr std::uint64_t many_times = 16;

bool is_l2_so_large(Session& session, const Findings& findings, const Eviction& e) {
  const std::uint64_t pushed = e.bytes(session.info().constant_bytes_per_module);
  return findings.near_l2_bytes(session.info()).value_or(0) >= many_times * pushed;
}

// Whether what was pushed out still came from the L2, which may lose lines of its own to the same loads.
Expected<bool> still_from_l2(Session& session, Findings& findings, const CacheFacts& cache, const Eviction& e) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return true;
  if (is_l2_so_large(session, findings, e)) return true;
  return are_served_by_l2(session, cache, cache.front_line_bytes, l2, e);
}

// Lines of a cache that all SMs share may lie at distances, as the L2's do: then what the swiftest of its hits take is
// what those in one place do. Of all, from the nearest to the farthest.
void spread_over_places(const Histogram& hits, const Levels& levels, Estimate& latency, Estimate& l1_penalty) {
  constexpr double either_end = 0.025;
  const Histogram all = between(levels.hit, 0, levels.threshold_cycles);
  const std::uint64_t beyond = count_from(all, hits.back().latency_cycles + 0.5);
  if (!are_more_than_strangers(beyond, total(all))) return;
  double sum = 0;
  for (const program::LatencyCount& h : all) sum += static_cast<double>(h.count) * h.latency_cycles;
  const double middle = sum / static_cast<double>(total(all)), swiftest = undisturbed(hits).value_or(middle);
  const double nearest = quantile(all, either_end).value_or(middle);
  const double farthest = quantile(all, 1 - either_end).value_or(middle);
  for (Estimate* e : {&latency, &l1_penalty}) {
    const double known_apart = *e->value - swiftest;
    e->interval = Interval{std::min(e->interval->low, known_apart + nearest),
                           std::max(e->interval->high, known_apart + farthest)};
    e->value = known_apart + middle;
    e->note = "its lines lie at distances: the mean, from the nearest of them to the farthest";
  }
}

// Lines at distances that are one level by their latencies: the mean of all lies among them, and those few that were
// looked at needn't be as far. Hits of the L1, all as near, differ by noise alone.
void widen_to_lines(const Histogram& hits, const Levels& l1, std::initializer_list<Estimate*> estimates) {
  constexpr double either_end = 0.1;  // strangers lie beyond
  const Histogram nearer = between(l1.hit, 0, l1.threshold_cycles);
  const auto reach = [&](double share) {
    const auto of = [&](const Histogram& h) {
      return std::fabs(quantile(h, share).value_or(0) - undisturbed(h).value_or(0));
    };
    return std::max(0.0, of(hits) - of(nearer));
  };
  for (Estimate* e : estimates)
    if (e->interval)
      e->interval = Interval{e->interval->low - reach(either_end), e->interval->high + reach(1 - either_end)};
}

// What a hit takes, and what the L1's misses and this cache's take longer than hits.
void state_latencies(Session& session, Findings& findings, const CacheFacts& cache, const LostBySm& lost,
                     const Histogram& hits) {
  const CacheFacts& l1 = *findings.cache("constant_l1");
  constexpr double half_a_cycle = 0.5;  // of the L1's hits, that this is held against: quartiles are whole cycles
  const double timed = undisturbed(hits).value_or(0), error = whole_mode(hits).error + half_a_cycle;
  Estimate& latency = findings.memory(path.id).attributes["latency"] =
      measured(cache.latency_cycles, "cycles", "timed_hits", total(hits));
  latency.interval = Interval{cache.latency_cycles - error, cache.latency_cycles + error};
  DecidingCurve curve =
      make_curve(path.id, "latency", {"latency without the clock", "cycles", false}, share_axis("loads"));
  curve.series = {share_up_to("constants that the L1 lost", hits, cache.overhead_cycles)};
  mark(curve, latency);
  session.keep(curve);
  findings.memory("constant_l1").attributes["miss_penalty"] =
      penalty_of(Mode{timed, timed, timed, 1, timed, error}, undisturbed(l1.levels.hit).value_or(0), total(hits));
  // To the L1 that is what a miss takes.
  curve = make_curve("constant_l1", "miss_penalty", {"cycles more than a hit", "cycles", false}, share_axis("loads"));
  curve.series = {share_up_to("constants that the L1 lost", hits, undisturbed(l1.levels.hit).value_or(0))};
  mark(curve, findings.memory("constant_l1").attributes["miss_penalty"]);
  session.keep(std::move(curve));
  Estimate& l1_penalty = findings.memory("constant_l1").attributes["miss_penalty"];
  if (!findings.others_delay_loads) {  // loads that somebody delays are as slow as any place
    widen_to_lines(hits, l1.levels, {&latency, &l1_penalty});
    spread_over_places(hits, cache.levels, latency, l1_penalty);
  }
  // Where many of the L1's misses are as fast as its hits, those that can be told are the slower ones.
  constexpr double many = 0.05;
  if (l1.levels.false_hit > many)
    for (Estimate* e : {&latency, &findings.memory("constant_l1").attributes["miss_penalty"]})
      bound_above(*e, "loads of it that take as long as hits of the L1 aren't among those that were timed");
  // What a stranger slowed of the L1's own hits is faster than these.
  Levels levels = cache.levels;
  levels.hit = between(levels.hit, hits.front().latency_cycles, 1e9);
  const CacheFacts* l2 = findings.cache("l2");
  LostLines of_l2s = penalty_of_lost(lost, levels, findings.far_less_near_cycles(),
                                     l2 == nullptr || !l2->present ? std::vector<double>() : l2->by_line, Places::one);
  session.keep(of_l2s.curve(path.id));
  Estimate& penalty = findings.memory(path.id).attributes["miss_penalty"] = std::move(of_l2s.penalty);
  if (findings.others_delay_loads)
    penalty = inconclusive("cycles", "miss_latency", "another program delays loads, those that hit as well");
  else if (findings.may_lines_be_far())
    penalty = inconclusive("cycles", "miss_latency", "whether these constants lie near or far in the L2 can't be told");
}

// Whether what was pushed out takes as much longer as memory does behind the L2, less than levels are apart, and didn't
// surely come `from_l2` still, or while something keeps that from being filled; or as its other side does where that
// keeps copies: these constants may be the L2's, which lost them to somebody else or to what pushed.
bool may_be_lost_by_l2(Session& session, const Findings& findings, const CacheFacts& l1, const PushedOut& out,
                       double threshold, bool from_l2) {
  const Memory* l2 = findings.topology.find("l2");
  const Memory* memory = findings.topology.find("device_memory");
  const Estimate* near = l2 == nullptr ? nullptr : l2->find("latency");
  const Estimate* far = memory == nullptr ? nullptr : memory->find("latency");
  if (near == nullptr || far == nullptr || !near->has_value() || !far->has_value()) return false;
  const std::vector<double> lines = pushed_lines_beyond(out, l1, threshold);
  if (lines.empty()) return !from_l2;
  const double more = median(lines);
  const Interval of_near = near->interval.value_or(Interval{*near->value, *near->value});
  const auto is_as_much = [&](const Estimate& level) {
    const Interval of_level = level.interval.value_or(Interval{*level.value, *level.value});
    const double by_chance = (half_a_level - 1) * *far->value;
    return more > of_level.low - of_near.high - by_chance && more < of_level.high - of_near.low + by_chance;
  };
  const Estimate* other_side = l2->find("far_latency");
  if (findings.beyond_own_l2 && other_side != nullptr && other_side->has_value() &&
      !is_l2_so_large(session, findings, out.last) && is_as_much(*other_side))
    return true;
  const bool is_surely_kept = from_l2 && findings.l2_before_memory.status == Status::measured;
  return !is_surely_kept && is_as_much(*far);
}

void stand_behind(const CacheFacts& l1, CacheFacts& cache) {
  cache.front_line_bytes = l1.asked_bytes();
  cache.front_threshold_cycles = l1.levels.threshold_cycles;
  cache.front_capacity_bytes = l1.capacity_bytes;
  cache.warm_laps = settling_laps;
}

Expected<Estimate> sector_of(Session& session, const CacheFacts& cache, const CacheFacts& l1, const Eviction& e) {
  const std::uint64_t step = std::max<std::uint64_t>(4, l1.sector_bytes);
  auto looks = time_cold(session, step, l1.asked_bytes(), e);
  if (!looks) return tl::unexpected<Error>(looks.error());
  const std::vector<double> words = undisturbed_by_line(std::move(*looks));
  const auto missed = std::make_unique<bool[]>(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) missed[i] = words[i] >= cache.levels.threshold_cycles;
  Estimate sector = period_of(std::span(missed.get(), words.size()), step, cache.contamination(), "cold_misses");
  session.keep(period_curve(std::span(missed.get(), words.size()), step, sector, path.id));
  // Each step is a sector of the L1, which asks for all of it at once.
  if (sector.has_value() && *sector.value <= static_cast<double>(step) && step > 4) {
    sector.status = Status::upper_bound;
    sector.note = "an L1 miss brings in as much by itself";
  }
  return sector;
}

// How sure it is that a cache in front of the L2 answers, and that what was pushed out of it is the L2's.
struct Behind {
  bool is_cache = true;  // false: the L2 may have lost what looks pushed out
  bool is_l2 = true;
};

Expected<void> state_sector(Session& session, Findings& findings, CacheFacts& cache, const CacheFacts& l1,
                            const Eviction& e, const Behind& behind) {
  constexpr std::string_view why = "what pushes constants out of it may push them out of the L2 as well";
  auto& attributes = findings.memory(path.id).attributes;
  if (!behind.is_l2) attributes["miss_penalty"] = inconclusive("cycles", "miss_latency", why);
  if (!behind.is_cache) {
    attributes["sector_size"] = inconclusive("B", "cold_misses", why);
    return {};
  }
  auto sector = sector_of(session, cache, l1, e);
  if (!sector) return tl::unexpected<Error>(sector.error());
  attributes["sector_size"] = *sector;
  if (sector->has_value()) cache.sector_bytes = static_cast<std::uint64_t>(*sector->value);
  return {};
}

}  // namespace

Expected<void> measure_constant_l1_5(Session& session, Findings& findings) {
  Memory& memory = findings.memory(path.id);
  const CacheFacts* l1 = findings.cache("constant_l1");
  CacheFacts& cache = findings.caches[std::string(path.id)];
  cache.path = path;
  const Estimate* l1_size = findings.memory("constant_l1").find("size");
  if (l1_size != nullptr && l1_size->status == Status::not_supported) {
    set_absent(memory, "there is no constant L1 in front of it");
    return {};
  }
  if (const std::string why = why_open(session, findings, l1); !why.empty()) {
    set_open(memory, "levels", why);
    return {};
  }
  auto timed = time_second_level(session, *l1);
  if (!timed) return tl::unexpected<Error>(timed.error());
  const Histogram hits = one_level(*timed), second = timed->loads;
  if (total(hits) < 8) {
    set_open(memory, "levels", "hardly any constant load misses the L1");
    return {};
  }
  cache.overhead_cycles = l1->overhead_cycles;
  cache.latency_cycles = undisturbed(hits).value_or(0) - l1->overhead_cycles;
  auto out = push_out(session, findings.near_l2_bytes(session.info()), *l1, second);
  if (!out) return tl::unexpected<Error>(out.error());
  cache.levels = levels_behind(*l1, second, undisturbed(hits).value_or(0), *out,
                               findings.lines_have_sides || findings.may_have_sides);
  const auto alike_with = [&](const Histogram& near) {
    return are_alike(near, out->graded.back(), cache.overhead_cycles, session.clock_share());
  };
  if (!cache.levels.usable()) return state_one_level(session, findings, second, *out, alike_with(second));
  if (out->before.empty()) {
    auto further = are_pushed_further(session, *l1, *out);
    if (!further) return tl::unexpected<Error>(further.error());
    const Histogram same = between(histogram_of(out->before), l1->levels.threshold_cycles, 1e9);
    if (!*further) return state_one_level(session, findings, second, *out, alike_with(same));
  }
  stand_behind(*l1, cache);
  auto from_l2 = still_from_l2(session, findings, cache, out->last);
  if (!from_l2) return tl::unexpected<Error>(from_l2.error());
  const bool may_be_lost = may_be_lost_by_l2(session, findings, *l1, *out, cache.levels.threshold_cycles, *from_l2);
  Behind behind{*from_l2, *from_l2 && !may_be_lost};
  if (!behind.is_l2) {
    auto in_front = are_kept_without_l2(session, *l1, findings.cache("l2"));
    if (!in_front) return tl::unexpected<Error>(in_front.error());
    behind.is_cache = *in_front;
  }
  if (may_be_lost && !behind.is_cache) {
    set_open(memory, "levels",
             "what is pushed out takes as much longer as memory or another side does behind the L2, which may have "
             "lost it");
    return {};
  }
  cache.present = true;
  cache.pushed_out_by_bytes = l1->circle_bytes() + out->last.bytes(session.info().constant_bytes_per_module);
  auto lost = time_lost_constants(session, *l1, out->last);
  if (!lost) return tl::unexpected<Error>(lost.error());
  state_latencies(session, findings, cache, *lost, hits);
  return state_sector(session, findings, cache, *l1, out->last, behind);
}

}  // namespace gputopo::experiments
