#include "evidence/lines/line_by_line.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/lines/looked_at_twice.hpp"

namespace gputopo::evidence {
namespace {

constexpr double beyond_either_end = 0.05;      // of loads, strangers
constexpr std::uint64_t lines_looked_at = 128;  // each is a phase of a program, which takes microseconds

// What lines take more than a hit of theirs, where that is half a level or more, and `more_cycles` beside it.
Histogram later_than_hits(const std::vector<LoadPair>& pairs, double overhead_cycles, double more_cycles) {
  Histogram later;
  for (const LoadPair& pair : pairs)
    if (pair.first_cycles - overhead_cycles > half_a_level * (pair.second_cycles - overhead_cycles))
      add(later, static_cast<std::uint32_t>(std::lround(
                     std::max(0.0, static_cast<double>(pair.first_cycles) - pair.second_cycles + more_cycles))));
  return later;
}

// Whether more of the lines that the L2 lost than strangers are come as soon as what counts as hits, and yet later than
// a hit of theirs: where slices lie as far apart as levels do.
bool hide_among_hits(const std::vector<LoadPair>& lost, double threshold_cycles, double overhead_cycles) {
  std::vector<LoadPair> as_soon = lost;
  std::erase_if(as_soon, [&](const LoadPair& pair) { return pair.first_cycles >= threshold_cycles; });
  return are_more_than_strangers(sooner_less_later(as_soon, overhead_cycles), lost.size());
}

// Whether some of them come sooner than from memory by half a level.
Expected<std::optional<bool>> come_from_a_cache(Session& session, const CacheFacts& l2,
                                                const std::vector<LoadPair>& lost, std::uint64_t flush_bytes) {
  auto flushed = if_available(time_flushed_twice(session, flush_bytes, lines_looked_at, 1));
  if (!flushed) return tl::unexpected<Error>(flushed.error());
  if (!*flushed) return std::optional<bool>();
  const double half = (half_a_level - 1) * l2.latency_cycles;
  return are_slower(later_than_hits(lost, l2.overhead_cycles, half), later_than_hits(**flushed, l2.overhead_cycles, 0));
}

// Whether near lines of a level behind may be as near as far ones of the L2: hits lie further apart than half a level.
// What other SMs brought in, a side of it may have kept of what an SM's own lost: where that is told from memory, so is
// what was lost, and else not.
bool may_distances_hide_levels(const Findings& findings, const CacheFacts& l2) {
  const double fastest = quantile(l2.levels.hit, beyond_either_end).value_or(0) - l2.overhead_cycles;
  const double slowest = quantile(l2.levels.hit, 1 - beyond_either_end).value_or(0) - l2.overhead_cycles;
  if (findings.lines_have_sides || slowest <= half_a_level * fastest) return false;
  if (!findings.beyond_own_l2) return true;
  const Levels beyond = levels_of(findings.brought_by_others(), l2.levels.next);
  return beyond.false_miss + beyond.false_hit > 2 * beyond_either_end;
}

}  // namespace

Expected<LineByLine> look_line_by_line(Session& session, const Findings& findings, const CacheFacts& l2) {
  const CacheFacts* memory = findings.caches.contains("device_memory") ? &findings.caches.at("device_memory") : nullptr;
  if (memory == nullptr || !may_distances_hide_levels(findings, l2)) return LineByLine();
  auto lost = time_lost_twice(session, l2.capacity_bytes, lines_looked_at, 3);
  if (!lost) return tl::unexpected<Error>(lost.error());
  const Levels& counted_by = findings.beyond_near_l2 ? findings.beyond_near_l2->levels : findings.l2_levels;
  if (!*lost) return LineByLine();
  const bool are_hidden = hide_among_hits(**lost, counted_by.threshold_cycles, l2.overhead_cycles);
  // Rows of DRAM that are open are nearer, too. And of lines that it hardly lost any of strangers say what comes.
  const bool are_lost = are_more_than_strangers(sooner_less_later(**lost, l2.overhead_cycles), (*lost)->size());
  if (!are_lost || findings.lines_apart.stride_bytes != in_a_small_page.stride_bytes)
    return LineByLine{are_hidden, {}, {}};
  auto is_a_cache = come_from_a_cache(session, l2, **lost, memory->capacity_bytes);
  if (!is_a_cache) return tl::unexpected<Error>(is_a_cache.error());
  return LineByLine{are_hidden, *is_a_cache, later_than_hits(**lost, l2.overhead_cycles, 0)};
}

}  // namespace gputopo::evidence
