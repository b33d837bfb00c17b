// How the L2 is organised: ways, sets, which lines collide and which one goes. It has too many lines to time each, so
// sets are found by what pushes a line out (evidence/eviction_sets; docs/measuring.md, 'How a cache is organised').
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/structure.hpp"
#include "evidence/memory/kept_translation.hpp"
#include "evidence/organisation/eviction_index.hpp"
#include "evidence/organisation/eviction_policy.hpp"
#include "evidence/organisation/eviction_sets.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view evictions = "eviction_sets";
constexpr std::size_t sets_looked_for = 8;
constexpr std::uint32_t evicting_sm = 0;

// What an SM finds near, where the L2 has sides that keep copies; else what it finds before memory answers.
struct L2Part {
  Estimate bytes;
  Levels levels;
};

L2Part l2_part_of(const Findings& findings) {
  if (findings.beyond_near_l2) return {findings.beyond_near_l2->near, findings.beyond_near_l2->levels};
  return {findings.l2_before_memory, findings.l2_levels};
}

// The sets of one side, by what it holds, which was looked for in steps of a 64th of the L2. Where `seen` sets have so
// many ways, of all others as many may have one more or less as such a sample misses once in twenty.
Interval sets_in(const Estimate& bytes, double ways, std::size_t seen, const CacheFacts& l2, double sides) {
  const Interval range = bytes.interval.value_or(Interval{*bytes.value, *bytes.value});
  const double step = static_cast<double>(l2.capacity_bytes) / 64;
  const double others = 1 - std::pow(0.05, 1 / static_cast<double>(seen));
  const double way_bytes = static_cast<double>(l2.line_bytes) * sides;
  return {std::floor((range.low - step) / way_bytes / (ways + others)),
          std::ceil((range.high + step) / way_bytes / (ways - others))};
}

// What a set loses in a round, and what it loses once a line is left out.
DecidingCurve eviction_curve(std::string_view quantity, const std::vector<EvictionSet>& sets) {
  DecidingCurve curve = make_curve("l2", quantity, {"which of the set's lines is left out, 0: none", "", false},
                                   {"misses in a round", "", false});
  for (std::size_t i = 0; i < std::min(sets.size(), most_series); ++i) {
    Series series{fmt::format("set of line {}", sets[i].lines.front()), {{0, sets[i].all_lose}}};
    for (std::size_t k = 0; k < sets[i].lines.size(); ++k)
      series.points.emplace_back(static_cast<double>(k + 1), sets[i].lose_without_one[k]);
    curve.series.push_back(std::move(series));
  }
  return curve;
}

std::string why_no_sets(const L2Part& part, const CacheFacts& l2) {
  if (l2.line_bytes == 0) return "needs the line size";
  if (!part.bytes.has_value()) return "needs the size";
  return part.levels.usable() ? "" : "hits and misses can't be told apart well enough";
}

Estimate counted_sets(double value, std::uint64_t samples) {
  return measured(value, "", evictions, samples);
}

Expected<void> state_l2_sets(Evictions& look, const CacheFacts& l2, Memory& memory, const L2Part& part, double sides,
                             const EvictionSets& found) {
  const auto ways = static_cast<double>(found.sets.front().lines.size() - 1);
  memory.attributes["ways"] = counted_sets(ways, found.samples);
  memory.attributes["ways"].note = fmt::format("of each of {} sets that were seen", found.sets.size());
  const Interval range = sets_in(part.bytes, ways, found.sets.size(), l2, sides);
  const bool is_size_known = part.bytes.status == Status::measured;
  auto told = index_of(look, found.sets, is_size_known ? range : Interval{range.low, 4 * range.high});
  if (!told) return tl::unexpected<Error>(told.error());
  const EvictionIndex& index = *told;
  Estimate& sets = memory.attributes["sets"];
  if (index.sets != 0) {
    sets = counted_sets(static_cast<double>(index.sets), found.samples);
    sets.note = index.detail;
  } else if (is_size_known) {
    sets =
        counted_sets(std::round(*part.bytes.value / ways / static_cast<double>(l2.line_bytes) / sides), found.samples);
    sets.interval = range;
    sets.note = "as many as hold what was measured";
  } else {
    sets = inconclusive("", evictions, "needs the size");
  }
  Estimate& together = memory.attributes["consecutive_lines"];
  Statement& kind = memory.structure["index"];
  if (index.kind.empty()) {
    kind = undecided(evictions, index.detail);
    together = inconclusive("", evictions, index.detail);
    return {};
  }
  kind = decided(index.kind, evictions, index.checks);
  kind.note = index.detail;
  together = index.kind == "hash" ? inconclusive("", evictions, "which neighbours share a set is a hash, too")
                                  : counted_sets(static_cast<double>(index.consecutive), index.checks);
  return {};
}

}  // namespace

Expected<void> measure_l2_organisation(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Memory& memory = findings.memory("l2");
  const L2Part part = l2_part_of(findings);
  if (const std::string why = why_no_sets(part, *l2); !why.empty()) {
    leave_organisation_open(memory, evictions, why);
    return {};
  }
  // Lines of all of it are looked at, whose translations TLBs may have lost: what that takes is no miss.
  const auto translation = kept_translation(session, findings);
  if (!translation) return tl::unexpected<Error>(translation.error());
  if (!translation->missing_cycles) {
    leave_organisation_open(memory, evictions, "what a line takes whose translation TLBs lost can't be told");
    return {};
  }
  if (*translation->missing_cycles >= part.levels.threshold_cycles) {
    leave_organisation_open(memory, evictions, "translation takes a part in it: TLBs' misses may look like its own");
    return {};
  }
  const EvictedCache cache{l2->line_bytes, static_cast<std::uint64_t>(*part.bytes.value) / l2->line_bytes,
                           part.levels.threshold_cycles, part.levels.false_miss, evicting_sm};
  auto found = find_eviction_sets(session, cache, sets_looked_for);
  if (!found) return tl::unexpected<Error>(found.error());
  if (found->sets.empty()) {
    leave_organisation_open(memory, evictions, found->why_open);
    return {};
  }
  for (const char* quantity : {"sets", "ways", "replacement"}) session.keep(eviction_curve(quantity, found->sets));
  const auto differs = [&](const EvictionSet& s) { return s.lines.size() != found->sets.front().lines.size(); };
  if (std::any_of(found->sets.begin(), found->sets.end(), differs)) {
    leave_organisation_open(memory, evictions, "the sets that were seen have different numbers of ways");
    return {};
  }
  Evictions look(session, cache, found->rounds);
  double sides = 1;
  if (findings.lines_have_sides && memory.find("partitions") != nullptr) sides = *memory.find("partitions")->value;
  if (auto ok = state_l2_sets(look, *l2, memory, part, sides, *found); !ok) return ok;
  auto replacement = replacement_of(session, look, found->sets, "l2", evictions);
  if (!replacement) return tl::unexpected<Error>(replacement.error());
  memory.structure["replacement"] = std::move(*replacement);
  return look.push_everything_out(std::max<std::uint64_t>(32, l2->sector_bytes));
}

}  // namespace gputopo::experiments
