// Is there a cache behind the L2? What it just lost comes from memory, or sooner: from a cache that still has it. Where
// there is none, sets of SMs that share what they brought in, near and far, are its sides. Says then what its size is:
// all that is found before memory answers, or only what is near.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "evidence/held/l2_held.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/lines/l2_lost.hpp"
#include "evidence/lines/l2_sector.hpp"
#include "evidence/lines/line_by_line.hpp"
#include "evidence/looks/latency.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

namespace {

constexpr double mebi = 1 << 20;
// What the other set has counts as a hit here, be it on another side or in a cache behind, which would have these.
enum class LinesFrom { memory, a_cache, a_cache_in_part, a_cache_behind_sides, unknown };

// Of the fastest tenth of what took `least_cycles` or longer, where what a cache behind still had comes first: memory
// makes some of the others wait.
double swift_mean(const Histogram& loads, double least_cycles) {
  const Histogram slow = between(loads, least_cycles, 1e9);
  return mean(between(slow, 0, quantile(slow, 0.1).value_or(0) + 0.5)).value_or(0);
}

constexpr double strangers = 0.05;

// What is slower is no hit, far ones among these, but of a stranger.
double end_of_hits(const Levels& levels, const Histogram& far) {
  return std::max(quantile(levels.hit, 1 - strangers).value_or(0), quantile(far, 1 - strangers).value_or(0)) + 0.5;
}

// Whether more of what was lost than of hits, of `far` ones or of memory's loads lies between these and memory: no
// mixture of them has that.
bool is_some_of_neither(const Histogram& lost, const Levels& levels, const Histogram& far) {
  constexpr double deviations = 4;
  const double from = end_of_hits(levels, far);
  const double to = quantile(levels.next, strangers).value_or(0) - 0.5;
  const auto share = [&](const Histogram& h) { return share_from(h, from) - share_from(h, to); };
  const double most = std::max({share(levels.hit), share(far), share(levels.next)}), of_lost = share(lost);
  const auto n = static_cast<double>(std::min({total(lost), total(levels.hit), total(levels.next)}));
  return from < to &&
         of_lost - most > deviations * std::sqrt((of_lost * (1 - of_lost) + most * (1 - most) + 1 / n) / n);
}

// Whether hits are so much alike that another level shows among them.
bool are_one_level(const Levels& levels, double overhead_cycles) {
  const double middle = quantile(levels.hit, 0.5).value_or(0),
               slowest = quantile(levels.hit, 1 - strangers).value_or(0);
  return slowest - overhead_cycles < half_a_level * (middle - overhead_cycles);
}

// Loads that are slower than hits and still sooner than the fastest from memory came from a cache in part. What is as
// fast as a hit is none of these: a line that the L2, or its other side, still has, as more than a few are where it
// doesn't go by age; or one of a cache behind that is taken for that. Such a cache holds twice as much at least
// (docs/domain.md), and replacing at random it would have lost 1 - e^-0.75 of them, 53 %.
LinesFrom lost_to(const CacheFacts& l2, const Histogram& lost, const Histogram& far) {
  constexpr double nearly_all = 0.9, mostly = 0.65, most = 0.5;
  const double slow = share_from(lost, l2.levels.threshold_cycles);
  if (slow < 1 - nearly_all) return LinesFrom::a_cache;
  if (is_some_of_neither(lost, l2.levels, far)) {
    const bool is_behind_far = !far.empty() && share_from(lost, end_of_hits(l2.levels, far)) > mostly;
    return is_behind_far ? LinesFrom::a_cache_behind_sides : LinesFrom::a_cache_in_part;
  }
  const bool as_slow = half_a_level * swift_mean(lost, l2.levels.threshold_cycles) >
                       swift_mean(l2.levels.next, l2.levels.threshold_cycles);
  const bool are_told = slow > mostly || (slow > most && are_one_level(l2.levels, l2.overhead_cycles));
  return are_told && as_slow ? LinesFrom::memory : LinesFrom::unknown;
}

double end_of(const Mode& level) {  // (Tukey's inner fence)
  return level.high_quartile + 1.5 * (level.high_quartile - level.low_quartile) + 1;
}

// Whether many lines that nobody had loaded took no longer than `nearest`, and more than of `memory`'s loads, far from
// each other: a row of DRAM was open, which is no cache's doing. Of several looks at each these are the quicker ones,
// which at the same level take no longer than most single loads; and on average as long. The near ones of rows that are
// a level behind a cache are as near as its far ones.
bool are_open_rows_as_near(const std::vector<double>& cold_words, double least_cycles, const Mode& nearest,
                           const Histogram& memory, double overhead_cycles) {
  constexpr double many = 0.25;  // of a row of 1 KiB, in which the first opens it, more than half
  const double end = nearest.high_quartile + 2 * half_a_tick;
  const double of_memory = 1 - share_from(memory, end + half_a_tick);
  const std::vector<double> lines = cold_lines_in_a_row(cold_words);
  const auto as_near =
      std::ranges::count_if(lines, [&](double cycles) { return cycles >= least_cycles && cycles <= end; });
  if (static_cast<double>(as_near) <= (of_memory + many) * static_cast<double>(lines.size())) return false;
  const Histogram in_open_rows =
      between(counted({lines.begin(), lines.end()}), least_cycles, (nearest.centre + whole_mode(memory).centre) / 2);
  return mean(in_open_rows).value_or(0) - overhead_cycles < half_a_level * (nearest.centre - overhead_cycles);
}

// What serves lines that were lost, memory or a level between hits and memory: a threshold halfway to memory may lie
// above it, and memory may have served the more of them. Whether some of memory's lines are as near as the L2's
// farthest: what is left of them isn't what it takes.
bool find_next_level(CacheFacts& l2, const Histogram& all, const std::vector<double>& cold_words) {
  const Levels from_hits = graded_levels(l2.levels.hit, {all}, l2.overhead_cycles);
  if (!from_hits.usable()) return false;
  const Histogram lost = between(all, from_hits.threshold_cycles, 1e9);
  const Mode nearest = lowest_mode(lost);
  l2.is_before_memory |= nearest.centre * half_a_level >= whole_mode(l2.levels.next).centre;
  if (!l2.is_before_memory &&
      are_open_rows_as_near(cold_words, from_hits.threshold_cycles, nearest, l2.levels.next, l2.overhead_cycles)) {
    l2.is_before_memory = true;
    return false;  // what memory takes whose rows aren't open is known, and these say nothing of it
  }
  const bool is_a_cache = !l2.is_before_memory && levels_of(between(lost, 0, end_of(nearest)), l2.levels.next).usable();
  if (is_a_cache) l2.next_level = nearest;
  const std::uint64_t loads = total(l2.levels.next);
  const std::uint64_t as_near = loads - count_from(l2.levels.next, from_hits.threshold_cycles);
  const bool is_hidden = l2.is_before_memory && are_more_than_strangers(as_near, loads);
  if (is_a_cache || (l2.is_before_memory && !is_hidden)) l2.next_loads = lost;
  return is_hidden;
}

// Whether lines of which only translations may be lost take no longer than hits: else those that the L2 lost may be
// such, in place of a level's between hits and memory.
Expected<bool> are_translated(Session& session, const Findings& findings, const CacheFacts& l2) {
  auto kept = time_as_far_kept(session, l2.capacity_bytes, findings.lines_apart);
  if (!kept) return tl::unexpected<Error>(kept.error());
  return *kept && !hold_slower_loads(l2.levels.hit, **kept, l2.overhead_cycles);
}

// Where lines that the L2 lost to a cache come from, held against what other SMs brought in: from the same place, a
// cache behind several L2s; or from farther away, a cache behind an L2 with sides. How far that is can't be told: other
// sides may still have some of them.
LinesFrom lost_beside(const Estimate& others, const CacheFacts& l2, const Mode& lost) {
  const double nearest = lost.centre - lost.error - l2.overhead_cycles;
  if (!others.interval || nearest <= others.interval->high) return LinesFrom::a_cache;
  return nearest > half_a_level * others.interval->high ? LinesFrom::a_cache_behind_sides : LinesFrom::unknown;
}

// Whether what was lost and comes as soon as `far` ones of another side differs from them by no more than chance:
// copies that it still has. Lines of a level behind are as near as these only in part.
bool are_copies(const CacheFacts& l2, const Histogram& far, const Histogram& lost) {
  constexpr double by_chance = 0.01;
  const Levels beyond = graded_levels(far, {lost}, l2.overhead_cycles);
  if (!beyond.usable()) return false;
  const double nearer = (l2.latency_cycles + l2.overhead_cycles + whole_mode(far).centre) / 2;
  const Histogram as_far = between(lost, nearer, beyond.threshold_cycles);
  return as_far.empty() || (levels_of(far, as_far).doubt > by_chance && levels_of(as_far, far).doubt > by_chance);
}

// What a cache behind sides takes: what was lost and comes later than from any side, and sooner than from memory.
// Nothing where these can't be told apart.
void find_level_behind_sides(const Findings& findings, CacheFacts& l2, const Histogram& lost) {
  const Estimate& others = findings.beyond_own_l2->latency;
  const Histogram far = findings.brought_by_others();
  CacheFacts found = l2;
  if (are_copies(l2, far, lost)) found.levels.hit = far;
  find_next_level(found, lost, findings.l2_cold_words);
  if (!found.next_level || !others.interval) return;
  const double nearest = found.next_level->centre - found.next_level->error - l2.overhead_cycles;
  if (nearest <= half_a_level * others.interval->high) return;
  l2.next_level = found.next_level;
  l2.next_loads = std::move(found.next_loads);
}

// What an SM of each side finds near, `share` of their sum; nothing where not all were asked.
std::optional<Estimate> of_all_sides(const Findings::BeyondNear& part, std::size_t sides, double share,
                                     double nominal_bytes, std::string_view note) {
  if (sides < 2 || part.by_set.size() != sides) return std::nullopt;
  Estimate all = measured(0, "B", slower_hits, 0);
  all.interval = Interval{0, 0};
  for (const Estimate& side : part.by_set) {
    *all.value += share * *side.value;
    all.interval->low += share * side.interval->low;
    all.interval->high += share * side.interval->high;
    all.samples += side.samples;
  }
  all.note = note;
  return is_telling(all) ? std::optional(as_next_count(all, share * nominal_bytes)) : std::nullopt;
}

bool are_alike(const std::vector<Estimate>& sides) {
  const auto by_value = [](const Estimate& x, const Estimate& y) { return *x.value < *y.value; };
  const auto [least, most] = std::minmax_element(sides.begin(), sides.end(), by_value);
  return least == sides.end() || most->interval->low <= least->interval->high;
}

// Sides that are alike are as large as their mean, which counts of each say more surely than that of one.
Estimate a_side(const Findings::BeyondNear& part, std::size_t sides, double nominal_bytes) {
  if (part.near.status != Status::measured || !are_alike(part.by_set)) return part.near;
  return of_all_sides(part, sides, 1 / static_cast<double>(sides), nominal_bytes,
                      "the mean of what an SM of each side finds near")
      .value_or(part.near);
}

// Where sides keep copies of what lives on others, how much fits of what memory needn't bring again depends on who
// asked for what: a bound differs from run to run. What one side holds is counted, and what all do where SMs of each
// were asked.
Estimate all_sides(Estimate whole, const Findings::BeyondNear& part, std::size_t sides, double nominal_bytes) {
  const Estimate& side = part.near;
  if (whole.status != Status::lower_bound || side.status != Status::measured) return whole;
  if (auto sum = of_all_sides(part, sides, 1, nominal_bytes, "the sum of what an SM of each side finds near"))
    return *sum;
  whole.value = side.value;
  whole.method = side.method;
  whole.confidence.reset();
  whole.note = "one side of it holds so much; how much is held of more can't be counted";
  return whole;
}

// That no footprint shows a cache between hits and memory says nothing where words in a row did, where others delay
// loads by as much as such a cache is away, and where lines that were lost aren't asked since others fill it.
bool may_a_cache_be_hidden(const Findings& findings) {
  return findings.l2_words_from_a_cache || (findings.others_fill_l2 && findings.others_delay_loads);
}

// What an SM finds near is the whole L2, with a cache behind it, or one of its sides.
Estimate size_by_parts(Findings& findings, CacheFacts& l2, LinesFrom lost, const Histogram& lost_loads,
                       double nominal_bytes) {
  Memory& memory = findings.memory("l2");
  const auto& part = findings.beyond_near_l2;
  constexpr std::string_view side_or_cache = "what is slower than a hit is another side of it or a cache behind";
  constexpr std::string_view a_cache_behind = "a cache behind it answers before memory does";
  if (findings.lost_by_l2) {
    // Of a count that tells no more than a bound nobody knows how much of it that cache holds.
    const bool is_a_bound = findings.l2_before_memory.status == Status::lower_bound;
    return findings.l2_words_from_a_cache && is_a_bound ? inconclusive("B", slower_hits, a_cache_behind)
                                                        : findings.l2_before_memory;
  }
  if (!findings.beyond_own_l2) {
    if (part || lost == LinesFrom::a_cache)
      lost = LinesFrom::a_cache;
    else if (lost != LinesFrom::a_cache_in_part && !may_a_cache_be_hidden(findings))
      lost = LinesFrom::memory;
  } else if (lost == LinesFrom::a_cache) {
    lost = lost_beside(findings.beyond_own_l2->latency, l2, whole_mode(lost_loads));
  }
  const bool is_next_a_hit = l2.next_level && l2.next_level->centre < l2.levels.threshold_cycles;
  if (lost == LinesFrom::memory && !is_next_a_hit) {
    if (findings.beyond_own_l2) findings.state_sides_by_sets();
    if (!part || !findings.beyond_own_l2) return findings.l2_before_memory;
    const std::size_t sides = findings.beyond_own_l2->sets;
    memory.attributes["partition_size"] = a_side(*part, sides, nominal_bytes);
    return all_sides(findings.l2_before_memory, *part, sides, nominal_bytes);
  }
  if (lost == LinesFrom::unknown || lost == LinesFrom::a_cache_in_part)
    return inconclusive("B", slower_hits, side_or_cache);
  if (lost == LinesFrom::a_cache_behind_sides) {
    findings.state_sides_by_sets();
    find_level_behind_sides(findings, l2, lost_loads);
    const Estimate open = inconclusive("B", slower_hits, a_cache_behind);
    if (!part) return open;
    const std::size_t sides = findings.beyond_own_l2->sets;
    memory.attributes["partition_size"] = a_side(*part, sides, nominal_bytes);
    return of_all_sides(*part, sides, 1, nominal_bytes, "the sum of what an SM of each side finds near").value_or(open);
  }
  if (!part) return inconclusive("B", slower_hits, a_cache_behind);
  if (findings.may_have_sides) return inconclusive("B", slower_hits, side_or_cache);
  Estimate near = part->near;
  if (near.has_value() && findings.l2_before_memory.has_value())
    near.note = fmt::format("what is behind it is a cache, too: memory answers from {:.1f} MiB on",
                            *findings.l2_before_memory.value / mebi);
  l2.next_level = part->slower;
  l2.next_loads = between(part->levels.next, part->levels.threshold_cycles, 1e9);
  memory.structure["l2_sides"] = decided("1", slower_hits, near.samples);
  return near;
}

// A cache behind the L2 may hold up to eight times as much (docs/domain.md): loads that no more than that came between
// may have come from there.
void doubt_memory(Findings& findings, const CacheFacts& l2) {
  constexpr std::uint64_t most_times = 8;
  const CacheFacts* memory = findings.cache("device_memory");
  if (memory == nullptr || memory->capacity_bytes >= most_times * l2.capacity_bytes) return;
  Estimate& latency = findings.memory("device_memory").attributes["latency"];
  if (latency.status != Status::measured) return;
  bound_below(latency, "a cache behind the L2 may hold what was loaded in between");
}

// Lines that were lost to memory needn't be the L2's own where a cache behind it has some of them.
void doubt_line(Memory& memory, CacheFacts& l2) {
  Estimate& line = memory.attributes["line_size"];
  if (!line.has_value()) return;
  line = inconclusive("B", line.method,
                      "whether what memory had to bring again are its own lines or those of a cache behind it");
  l2.line_bytes = 0;
}

// Beside what the driver says, where it does. Of less than that somebody may hold the rest who runs on no SM and whose
// part is always as large, so that nothing else shows him (docs/measuring.md).
void state_size(Session& session, Findings& findings, const Estimate& size) {
  Memory& memory = findings.memory("l2");
  const auto api = static_cast<double>(session.info().l2_bytes);
  memory.attributes[api == 0 ? "size" : "measured_size"] = size;
  if (api == 0 || size.status != Status::measured) return;
  const Interval range = size.interval.value_or(Interval{*size.value, *size.value});
  const bool is_told = range.low <= least_ratio * api && api <= least_ratio * range.high;
  const double unit = range.high < mebi ? 1 << 10 : mebi;
  memory.attributes["size"].note =
      fmt::format("{}measured {:.1f} to {:.1f} {}", is_told ? "" : "not what is measured: ", range.low / unit,
                  range.high / unit, unit == mebi ? "MiB" : "KiB");
  findings.others_may_copy = range.high < api;
  if (!findings.others_may_copy) return;
  for (auto& [name, part] : memory.attributes)
    if ((name == "measured_size" || name == "partition_size") && part.status == Status::measured)
      bound_below(part, "the driver says more: another program's copies, or lines it set aside, may hold the rest");
}

// Lines that the L2 lost count as hits: neither what it holds nor which of its lines go together is told.
void doubt_counts(Findings& findings, CacheFacts& l2) {
  Memory& memory = findings.memory("l2");
  findings.l2_before_memory =
      inconclusive("B", slower_hits, "lines that it lost come as soon as those of it that are far");
  if (findings.beyond_near_l2) findings.beyond_near_l2->near = findings.l2_before_memory;
  doubt_line(memory, l2);
}

// What is right behind the L2, and what lines take from there. Of sides that keep copies another one may still have
// what an SM's own lost.
void take_line_by_line(Findings& findings, CacheFacts& l2, const LineByLine& by_line) {
  const auto& structure = findings.memory("l2").structure;
  const auto stated = structure.find("l2_sides");
  const std::string sides = stated == structure.end() ? "" : stated->second.value;
  if (findings.beyond_own_l2 && !sides.empty() && sides != "1") return;
  l2.next_loads.clear();
  // Memory is as far from hits of each side as it is from those, which is more than one answer.
  const bool is_memory = !*by_line.is_a_cache, is_one = modes_of(by_line.later).size() == 1;
  l2.is_before_memory = is_memory && is_one;
  if (is_memory && !is_one) return;
  if (!findings.beyond_own_l2 || !sides.empty()) l2.later_by_line = by_line.later;
}

}  // namespace

Expected<void> measure_l2_behind(Session& session, Findings& findings) {
  CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Expected<std::optional<Histogram>> lost = findings.lost_by_l2;
  if (!findings.lost_by_l2 && !l2->next_level) lost = time_just_lost(session, l2->capacity_bytes, findings.lines_apart);
  if (!lost) return tl::unexpected<Error>(lost.error());
  LinesFrom to = LinesFrom::unknown;
  bool is_memory_hidden = false;
  // Others who fill the L2 push lines out of a cache behind it as well.
  if (*lost && !findings.others_fill_l2) {
    to = lost_to(*l2, **lost, findings.brought_by_others());
    l2->is_before_memory = to == LinesFrom::memory;
    if (!findings.beyond_own_l2 && !findings.beyond_near_l2)
      is_memory_hidden = find_next_level(*l2, **lost, findings.l2_cold_words);
    const bool are_seen = to != LinesFrom::memory && to != LinesFrom::unknown;
    auto translated = are_seen || l2->next_level ? are_translated(session, findings, *l2) : true;
    if (!translated) return tl::unexpected<Error>(translated.error());
    if (!*translated) {
      // Without sides footprints have shown a cache, if there is one.
      if (!findings.lines_have_sides) to = LinesFrom::unknown;
      l2->next_level.reset();
    }
    // Loads of a cache and of memory may look like one level, no nearer than memory by much.
    const bool is_mixed = are_seen && !l2->next_level && !l2->next_loads.empty();
    if (is_mixed) l2->is_before_memory = false;
    if (is_mixed || !*translated) l2->next_loads.clear();
  }
  doubt_memory(findings, *l2);
  Memory& memory = findings.memory("l2");
  const auto by_line = *lost && !findings.others_fill_l2 ? look_line_by_line(session, findings, *l2)
                                                         : Expected<LineByLine>(LineByLine());
  if (!by_line) return tl::unexpected<Error>(by_line.error());
  // Where all loads together told a cache behind, and none of its lines pass for hits, they tell more of it than a few.
  const bool is_told_by_line = by_line->is_a_cache && (by_line->are_hidden || !l2->next_level) &&
                               (*by_line->is_a_cache || to == LinesFrom::unknown || is_memory_hidden);
  if (is_told_by_line && *by_line->is_a_cache && to == LinesFrom::memory) to = LinesFrom::a_cache;
  if (by_line->are_hidden) {
    l2->next_level.reset(), l2->next_loads.clear();
    doubt_counts(findings, *l2);
  }
  const Estimate size = by_line->are_hidden ? findings.l2_before_memory
                                            : size_by_parts(findings, *l2, to, lost->value_or(Histogram()),
                                                            static_cast<double>(session.info().l2_bytes));
  if (is_told_by_line)
    take_line_by_line(findings, *l2, *by_line);
  else if (is_memory_hidden && findings.may_lines_be_far())
    l2->is_before_memory = false;  // hits of sides are far, memory's loads needn't be
  const bool may_be_anothers = size.status == Status::inconclusive && to != LinesFrom::memory;
  if (may_be_anothers && !findings.beyond_near_l2) doubt_line(memory, *l2);
  if (findings.lines_have_sides && size.status == Status::measured) {
    Estimate& part = memory.attributes["partition_size"] = size;
    const double sides = *memory.attributes["partitions"].value;
    for (double* x : {&*part.value, &part.interval->low, &part.interval->high}) *x /= sides;
  }
  state_size(session, findings, size);
  return {};
}

}  // namespace gputopo::experiments
