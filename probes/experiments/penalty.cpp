// Miss penalty: what a line's load takes when the cache just lost it, less what a hit takes, like with like: near with
// near where the level behind has sides, all of it where it hasn't (evidence/lines/lost_lines.hpp).
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/lines/l2_lost.hpp"
#include "evidence/lines/lost_lines.hpp"
#include "evidence/lines/near_and_far.hpp"
#include "evidence/looks/latency.hpp"
#include "evidence/memory/memory_latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

namespace {

constexpr std::uint64_t penalty_lines = 64;
constexpr std::uint64_t penalty_part_bytes = 32 << 10;  // pages of 4 KiB lie on one side: each line in another

// Lines at equal distances may be of a few slices of an L2 alone, by its hash.
std::uint64_t place_of(std::uint64_t line) {
  constexpr std::uint64_t largest_line_bytes = 256;
  constexpr std::uint64_t places = penalty_part_bytes / largest_line_bytes;
  return line * penalty_part_bytes + static_cast<std::uint64_t>(even_place(line) * places) * largest_line_bytes;
}

// What looks at a line: the path, or loads past the SM's caches.
enum class LooksBy { the_path, the_l2 };

// One look at each line. Lines were pushed out of the cache, and each is brought into the L2 right before it is looked
// at, so that others, who push lines out of that, have no time to. On one SM, which is as far from them at every look.
program::Program lost_lines(const Session& session, const CacheFacts& cache, std::uint64_t first_byte, LooksBy looks) {
  program::Program p = make_program(fmt::format("{} lost lines", cache.path.id), session.info(), cache.path.slot);
  p.agents = {{0, 0}};
  if (cache.path.slot == slot_constant) {
    constexpr std::uint32_t settling_laps = 24;
    const program::Walk look = make_walk(cache.path, cache.circle_bytes(), cache.stride(), settling_laps);
    p.phases = {look, recorded(look, program::Record::latencies, 1)};
    return p;
  }
  constexpr std::uint64_t word_bytes = 4;
  program::Walk look = make_walk(cache.path, word_bytes, word_bytes, 1);
  const program::Walk push = make_walk(cache.path, pushing_bytes(cache.capacity_bytes), cache.stride(), 1);
  p.phases = {by_all_lanes(push, session.info())};
  for (std::uint64_t line = 0; line < penalty_lines; ++line) {
    look.first_byte = first_byte + place_of(line);
    p.phases.emplace_back(past_l1(look));
    p.phases.emplace_back(recorded(looks == LooksBy::the_l2 ? past_l1(look) : look, program::Record::latencies, 1));
  }
  return p;
}

std::uint64_t lines_nobody_loaded(Session& session, const CacheFacts& cache) {
  return session.fresh_region(cache.path.slot, penalty_lines * penalty_part_bytes);
}

Expected<LooksByLine> time_lost_lines(Session& session, const CacheFacts& cache, std::uint64_t first,
                                      LooksBy by = LooksBy::the_path) {
  auto traces = session.run(program::Batch(looks_at_a_line, lost_lines(session, cache, first, by)));
  if (!traces) return tl::unexpected<Error>(traces.error());
  LooksByLine looks;
  for (const program::ProgramTrace& trace : *traces) {
    std::size_t line = 0;
    for (const program::PhaseTrace& phase : trace.phases)
      for (const std::uint32_t cycles : phase.latencies) {
        if (looks.size() == line) looks.emplace_back();
        looks[line++].push_back(cycles);
      }
  }
  return looks;
}

// Others who fill the L2 may take what was brought into it before it is looked at. Where loads past the SM's caches, in
// place of these looks, mostly find it there, so do they, and a quartile of nine rests on such as did: of as many as
// are lost here it is one that wasn't 999 times in a thousand.
Expected<bool> do_lines_stay_in_l2(Session& session, const Findings& findings, const CacheFacts& cache) {
  constexpr double mostly = 0.75;
  const auto l2 = findings.caches.find("l2");
  if (cache.path.slot == slot_constant || l2 == findings.caches.end() || !l2->second.present) return false;
  auto looks = time_lost_lines(session, cache, lines_nobody_loaded(session, cache), LooksBy::the_l2);
  if (!looks) return tl::unexpected<Error>(looks.error());
  return share_from(histogram_of(*looks), l2->second.levels.threshold_cycles) < 1 - mostly;
}

// Constants can't be brought anywhere but through their caches: what the L1 lost may lie behind it at several
// distances.
bool are_at_two_levels(const LooksByLine& looks, const Levels& levels) {
  Histogram lost;
  for (const double cycles : undisturbed_by_line(looks))
    if (cycles >= levels.threshold_cycles) add(lost, static_cast<std::uint32_t>(cycles));
  return modes_of(lost).size() > 1;
}

// Where sides of the L2 are open: the penalty of those of the lines from `first` on that the L2 itself serves as soon
// as its near ones, since of so few lines all may be far. A bound by all of them, `penalty`, where hardly any are near,
// of constants, which nothing but their own path loads, and where hits of the L2 aren't told from memory's loads.
Expected<Estimate> near_penalty(Session& session, Findings& findings, const CacheFacts& cache, const LooksByLine& lost,
                                std::uint64_t first, Estimate penalty) {
  constexpr std::size_t fewest_lines = 4;
  const CacheFacts* l2 = findings.cache("l2");
  LooksByLine near;
  if (cache.path.slot != slot_constant && l2 != nullptr && l2->present && !l2->by_line.empty()) {
    auto hits = time_lost_lines(session, cache, first, LooksBy::the_l2);
    if (!hits) return tl::unexpected<Error>(hits.error());
    std::vector<double> lines = l2->by_line;
    for (double& cycles : lines) cycles -= l2->overhead_cycles;
    const double end = end_of_near_lines(std::move(lines)) + l2->overhead_cycles;
    const std::vector<double> by_line = undisturbed_by_line(std::move(*hits));
    for (std::size_t line = 0; line < std::min(by_line.size(), lost.size()); ++line)
      if (by_line[line] <= end) near.push_back(lost[line]);
  }
  if (near.size() >= fewest_lines)
    if (const LostLines of_near = penalty_of_lost({near}, cache.levels, std::nullopt, {});
        of_near.penalty.status == Status::measured)
      return of_near_lines(of_near.penalty, penalty);
  bound_above(penalty, near_and_far);
  return penalty;
}

}  // namespace

Expected<void> measure_penalty(Session& session, Findings& findings, const CachePath& path) {
  CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  Estimate& penalty = findings.memory(path.id).attributes["miss_penalty"] =
      inconclusive("cycles", "miss_latency", "needs the size: how much to load so that it loses lines");
  if (cache->capacity_bytes == 0 && path.slot == slot_constant) return {};
  if (findings.others_fill_l2) {
    auto stay = do_lines_stay_in_l2(session, findings, *cache);
    if (!stay) return tl::unexpected<Error>(stay.error());
    penalty.note = "another program fills the L2: what a cache lost may come from memory";
    if (!*stay) return {};
  }
  const std::uint64_t first = lines_nobody_loaded(session, *cache);
  auto looks = time_lost_lines(session, *cache, first);
  if (!looks) return tl::unexpected<Error>(looks.error());
  if (path.slot == slot_constant && !findings.lines_have_sides && are_at_two_levels(*looks, cache->levels)) {
    penalty = inconclusive("cycles", "miss_latency", "what it lost comes from more than one level");
    return {};
  }
  const CacheFacts* l2 = findings.cache("l2");
  LostLines lost = penalty_of_lost({*looks}, cache->levels, findings.far_less_near_cycles(),
                                   l2 == nullptr ? std::vector<double>() : l2->by_line,
                                   path.slot == slot_constant ? Places::one : Places::many);
  session.keep(lost.curve(path.id));
  const std::vector<double> by_line = undisturbed_by_line(*looks);
  const double nearest = by_line.empty() ? 0 : *std::min_element(by_line.begin(), by_line.end());
  cache->is_before_another =
      path.slot != slot_constant && are_served_sooner(cache->levels, cache->walked, nearest, cache->overhead_cycles);
  if (cache->is_before_another) {
    constexpr std::string_view in_between =
        "walks that it can't hold are served sooner than lines of the L2: by a cache in between";
    penalty = inconclusive("cycles", "miss_latency", in_between);
    // What is lost, and which lines together, is the cache in between's where that counts as hits.
    if (!hide_a_level(cache->levels, {cache->walked}, many_of_walked)) return {};
    for (const char* name : {"size", "line_size"}) bound_above(findings.memory(path.id).attributes[name], in_between);
    return {};
  }
  penalty = std::move(lost.penalty);
  if (!findings.may_lines_be_far() || !penalty.has_value()) return {};
  auto near = near_penalty(session, findings, *cache, *looks, first, penalty);
  if (!near) return tl::unexpected<Error>(near.error());
  penalty = std::move(*near);
  return {};
}

// A level's own loads, and those of the nearest level of what it lost.
struct HitAndNext {
  double hit_cycles = 0;
  Mode next;
};

// Single loads against single loads: what jitter adds to them a line's lower quartile doesn't have. The nearest level
// of both, without what another level or another program makes slower where that is apart. Where that is less than
// lines take on average, `own_cycles`, it is that of some of the slices: then of all, which lie as far apart in either.
HitAndNext nearest_of_both(const Histogram& hits, const Histogram& lost, double own_cycles) {
  constexpr double strangers_apart = 0.9;
  const Mode swiftest = lowest_mode(hits), nearest = lowest_mode(lost);
  if (swiftest.centre * half_a_level > own_cycles) return {swiftest.centre, nearest};
  const double reach = quantile(hits, strangers_apart).value_or(0) - swiftest.low_quartile + least_fence_cycles;
  return {whole_mode(hits).centre, whole_mode(between(lost, 0, nearest.low_quartile + reach))};
}

double width_of(const Histogram& loads) {
  constexpr double tail = 0.1;
  return quantile(loads, 1 - tail).value_or(0) - quantile(loads, tail).value_or(0);
}

// Of lines that were lost, or of memory, those that are near: as many, but for chance, as of `hits` are `near`. That is
// the nearest level of them, or what lies before the widest gap about there; all, where they differ no more than near
// hits do. Nothing where near ones aren't told from far.
std::optional<Histogram> near_part(const Histogram& lost, const Histogram& near, const Histogram& hits,
                                   double looks_at_each) {
  constexpr double deviations = 4, least_gap_cycles = 3, a_half_more = 1.5, two_ticks = 2;
  const double share = static_cast<double>(total(near)) / std::max(1.0, static_cast<double>(total(hits)));
  const double lines = static_cast<double>(total(lost)) / looks_at_each;
  const double off = deviations * std::sqrt(share * (1 - share) / std::max(1.0, lines));
  if (width_of(lost) <= a_half_more * width_of(near) + two_ticks) return lost;
  if (std::fabs(lowest_mode(lost).share - share) <= off) return lost;
  double widest = least_gap_cycles, end = 0, seen = 0;
  for (std::size_t i = 0; i + 1 < lost.size(); ++i) {
    seen += static_cast<double>(lost[i].count) / static_cast<double>(total(lost));
    const double gap = static_cast<double>(lost[i + 1].latency_cycles) - lost[i].latency_cycles;
    if (std::fabs(seen - share) <= off && gap > widest) widest = gap, end = lost[i + 1].latency_cycles;
  }
  return end == 0 ? std::nullopt : std::optional(between(lost, 0, end));
}

Estimate moved(Estimate e, double by) {
  for (double* cycles : {&*e.value, &e.interval->low, &e.interval->high}) *cycles += by;
  return e;
}

struct HeldAgainst {
  Estimate hits, memory;
  bool are_near_told = true;
};

// Hits and loads of memory, `own` and `next`, so that they are alike: of an L2 with sides near ones, of memory those
// that are near where it isn't as far from all. Where sides aren't known, all lines against all.
HeldAgainst held_against(const Findings& findings, const CacheFacts& l2, const CacheFacts& memory, const Estimate& own,
                         const Estimate& next) {
  if ((!findings.lines_have_sides && !findings.may_lines_be_far()) || l2.by_line.size() < 2) return {own, next};
  const Histogram hits = counted({l2.by_line.begin(), l2.by_line.end()});
  const Histogram loads = counted({memory.by_line.begin(), memory.by_line.end()});
  const std::optional<double> far_less_near = findings.far_less_near_cycles();
  const Histogram near =
      far_less_near ? between(hits, 0, *own.value + l2.overhead_cycles + *far_less_near / 2) : Histogram();
  if (near.empty() || loads.empty())
    return {without_clock(mean_estimate(l2.by_line, "cycles", {}), l2.overhead_cycles), next};
  const std::optional<Histogram> near_loads = near_part(loads, near, hits, 1);
  if (!near_loads) return {own, next, false};
  const double own_cycles = *own.value + l2.overhead_cycles;
  const auto [near_cycles, nearest] = nearest_of_both(near, *near_loads, own_cycles);
  return {moved(own, near_cycles - own_cycles), moved(next, nearest.centre - mean(loads).value_or(0))};
}

DecidingCurve line_by_line_curve(const Histogram& later, const Estimate& penalty) {
  DecidingCurve curve = make_curve("l2", "miss_penalty", {"cycles more than a hit of the same line", "cycles", false},
                                   share_axis("loads"));
  curve.series = {share_up_to("lines that it lost", later)};
  mark(curve, penalty);
  return curve;
}

// What lines take that it lost. Memory behind an L2 with sides is as near or far as the line's home: near ones are held
// against near ones, and where nothing was timed that was just lost so are both latencies.
Expected<void> measure_l2_penalty(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  const CacheFacts* memory = findings.cache("device_memory");
  if (l2 == nullptr || !l2->present || memory == nullptr) return {};
  const Estimate& own = findings.memory("l2").attributes["latency"];
  const Estimate& next = findings.memory("device_memory").attributes["latency"];
  Estimate& penalty = findings.memory("l2").attributes["miss_penalty"];
  // Lines that were just lost lie in open rows, where rows make a difference: then both latencies tell.
  const bool may_be_open = l2->is_before_memory && findings.lines_apart.stride_bytes == in_a_large_page.stride_bytes;
  const bool is_timed = !l2->next_loads.empty() && !may_be_open;
  if (!is_usable(own) || !own.interval || (!is_timed && (!is_usable(next) || !next.interval))) {
    penalty = inconclusive("cycles", "difference", "needs both latencies");
    return {};
  }
  if (!l2->later_by_line.empty() && !findings.others_delay_loads) {
    const Mode nearest = lowest_mode(l2->later_by_line);
    penalty = penalty_of(nearest, 0, total(l2->later_by_line));
    session.keep(line_by_line_curve(l2->later_by_line, penalty));
    return {};
  }
  if (!is_timed && !l2->is_before_memory) {
    penalty = inconclusive("cycles", "difference", "whether memory is right behind it isn't known");
    return {};
  }
  if ((is_timed || !l2->later_by_line.empty()) && findings.others_delay_loads) {
    penalty = inconclusive("cycles", "miss_latency",
                           "another program delays loads, and what is behind was timed once a line");
    return {};
  }
  double hit = *own.value + l2->overhead_cycles;
  bool are_near_told = true;
  if (is_timed) {
    const std::optional<double> far_less_near = findings.far_less_near_cycles();
    const Histogram hits = between(l2->levels.hit, 0, l2->levels.threshold_cycles);
    const Histogram near = far_less_near ? between(hits, 0, hit + *far_less_near / 2) : hits;
    if (near.empty()) {
      penalty = inconclusive("cycles", "miss_latency", "of the hits that were timed none is near");
      return {};
    }
    const auto near_lost =
        far_less_near ? near_part(l2->next_loads, near, hits, looks_at_lost_lines) : std::optional(l2->next_loads);
    are_near_told = near_lost.has_value();
    const auto [own_loads, nearest] = nearest_of_both(near, near_lost.value_or(l2->next_loads), hit);
    hit = own_loads;
    penalty = penalty_of(nearest, hit, own.samples);
    penalty.interval->low -= own.interval->high - *own.value;
    penalty.interval->high += *own.value - own.interval->low;
  } else {
    const auto [hits, loads, are_told] = held_against(findings, *l2, *memory, own, next);
    are_near_told = are_told;
    penalty = measured(*loads.value - *hits.value, "cycles", "difference", next.samples);
    penalty.interval = Interval{loads.interval->low - hits.interval->high, loads.interval->high - hits.interval->low};
  }
  if (!are_near_told) bound_above(penalty, near_and_far);
  if (findings.memory_in_open_rows) bound_below(penalty, in_open_rows);
  DecidingCurve curve =
      make_curve("l2", "miss_penalty", {"cycles more than a hit", "cycles", false}, share_axis("loads"));
  curve.series = {is_timed ? share_up_to("lines that it lost", l2->next_loads, hit)
                           : share_up_to("loads of device memory", memory->levels.next, hit),
                  share_up_to("hits", l2->levels.hit, hit)};
  mark(curve, penalty);
  session.keep(std::move(curve));
  return {};
}

}  // namespace gputopo::experiments
