// How the L2 is organised: ways, sets, which lines collide and which one goes. It has too many lines to time each, so
// sets are found by what pushes a line out (evidence/eviction_sets; docs/measuring.md, 'How a cache is organised').
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "evidence/curves.hpp"
#include "evidence/estimates.hpp"
#include "evidence/eviction_sets.hpp"
#include "evidence/policy_sequences.hpp"
#include "evidence/structure.hpp"
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

L2Part l2_part_of(const Findings& findings, const CacheFacts& l2) {
  if (findings.beyond_near_l2) return {findings.beyond_near_l2->near, findings.beyond_near_l2->levels};
  return {findings.l2_before_memory, l2.levels};
}

// The sets of one side, by what it holds, which was looked for in steps of a 64th of the L2.
Interval sets_in(const Estimate& bytes, double ways, const CacheFacts& l2, double sides) {
  const Interval range = bytes.interval.value_or(Interval{*bytes.value, *bytes.value});
  const double step = static_cast<double>(l2.capacity_bytes) / 64;
  const double set_bytes = ways * static_cast<double>(l2.line_bytes) * sides;
  return {std::floor((range.low - step) / set_bytes), std::ceil((range.high + step) / set_bytes)};
}

struct Index {
  std::string kind;        // empty where undecided
  std::uint64_t sets = 0;  // where the index tells
  std::uint32_t consecutive = 1;
  std::string detail;
  std::uint64_t checks = 0;
};

bool is_within(double x, const Interval& range) {
  return range.low <= x && x <= range.high;
}

// Line numbers (of groups of neighbours) of one set differ by multiples of the number of sets where the index is that
// number modulo them: so the sets divide what all differences have in common.
std::uint64_t common_step(const std::vector<EvictionSet>& sets, std::uint64_t together) {
  std::uint64_t step = 0;
  for (const EvictionSet& set : sets)
    for (const std::uint64_t line : set.lines) {
      const std::uint64_t a = line / together, b = set.lines.front() / together;
      step = std::gcd(step, std::max(a, b) - std::min(a, b));
    }
  return step;
}

// Dimensions that the differences (by XOR) of lines of one set span: of b bits of a line's number an index of
// 2^k sets that is linear over them leaves b - k at most.
std::uint32_t dimensions(const std::vector<EvictionSet>& sets, std::uint64_t& differences) {
  std::array<std::uint64_t, 64> basis{};
  std::uint32_t rank = 0;
  for (const EvictionSet& set : sets)
    for (const std::uint64_t line : set.lines) {
      std::uint64_t x = line ^ set.lines.front();
      differences += x != 0 ? 1 : 0;
      while (x != 0) {
        const auto top = static_cast<std::size_t>(std::bit_width(x) - 1);
        if (basis[top] == 0) {
          basis[top] = x;
          ++rank;
          break;
        }
        x ^= basis[top];
      }
    }
  return rank;
}

// Does the step hold everywhere? Rows of sets that are each turned by a line look like a row with a line less: all but
// the lines at a row's end, of which one in as many as a set has ways is looked at here.
Expected<bool> is_step_of_all(Session& session, const EvictedCache& cache, std::uint64_t step, std::uint64_t ways) {
  constexpr std::uint64_t most = 2048;
  const std::uint64_t count = std::min(most, step / ways + 2);
  std::vector<std::vector<std::uint64_t>> predicted;
  for (std::uint64_t i = 0; i < count; ++i)
    for (std::uint64_t k = 0; k <= ways; ++k) {
      if (k == 0) predicted.emplace_back();
      predicted.back().push_back(i * step / count + k * step);
    }
  auto gone = are_pushed_out(session, cache, predicted);
  if (!gone) return tl::unexpected<Error>(gone.error());
  return std::all_of(gone->begin(), gone->end(), [](bool g) { return g; });
}

// Nothing where no step that all lines of a set differ by leaves as many sets as the size does.
Expected<std::optional<Index>> modulo_index(Session& session, const EvictedCache& cache,
                                            const std::vector<EvictionSet>& sets, const Interval& sets_range) {
  const std::uint64_t ways = sets.front().lines.size() - 1;
  for (const std::uint32_t together : {1U, 2U, 4U, 8U}) {
    const std::uint64_t count = common_step(sets, together);
    if (static_cast<double>(count) < sets_range.low) continue;
    if (!is_within(static_cast<double>(count), sets_range))
      return Index{{}, 0, 1, "lines that collide differ by multiples of more than there are sets", 0};
    auto is_of_all = is_step_of_all(session, cache, count * together, ways);
    if (!is_of_all) return tl::unexpected<Error>(is_of_all.error());
    if (!*is_of_all) continue;
    return Index{"modulo", count, together,
                 fmt::format("lines that collide differ by multiples of {} lines", count * together),
                 sets.size() * ways};
  }
  return std::nullopt;
}

// `sets_range` is what the size leaves for the number of sets.
Index linear_or_hash(const std::vector<EvictionSet>& sets, const Interval& sets_range) {
  constexpr std::uint64_t spare = 16;  // differences that an equation could have got wrong: chance agrees in 2^-16
  Index index;
  std::uint64_t highest = 0;
  for (const EvictionSet& set : sets)
    for (const std::uint64_t line : set.lines) highest = std::max(highest, line);
  const std::uint32_t rank = dimensions(sets, index.checks);
  const auto bits = static_cast<std::uint32_t>(std::bit_width(highest));
  const double most_linear = std::ldexp(1.0, static_cast<int>(bits - rank));
  if (most_linear < sets_range.low) {
    index.kind = "hash";
    index.detail = fmt::format(
        "lines that collide share no step, and their numbers' differences span {} of {} bits, "
        "so that bits of addresses, as programs see these, alone or added, don't give the set",
        rank, bits);
  } else if (is_within(most_linear, sets_range) && index.checks >= rank + spare) {
    index.kind = "xor";
    index.sets = static_cast<std::uint64_t>(most_linear);
    index.detail = fmt::format("{} differences of lines that collide span {} of {} bits", index.checks, rank, bits);
  } else {
    index.detail = "too few lines that collide were seen to tell an XOR of address bits from a hash";
  }
  return index;
}

Expected<Statement> replacement_of(Session& session, const EvictedCache& cache, const std::vector<EvictionSet>& sets) {
  constexpr std::size_t looks = 5;
  const std::size_t lines = sets.front().lines.size();
  if (lines == 2) return decided("none", evictions, sets.size());
  const auto sequences = telling_sequences(static_cast<std::uint32_t>(lines));
  PolicyVote vote(lines);
  for (const EvictionSet& set : sets) {
    auto misses = misses_of_sequences(session, cache, set.lines, sequences, looks);
    if (!misses) return tl::unexpected<Error>(misses.error());
    std::vector<SequenceMisses> lost;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      auto& seen = (*misses)[i];
      std::sort(seen.begin(), seen.end());
      lost.push_back(misses_by_count(static_cast<std::uint32_t>(lines - 1), sequences[i], (sequences[i].size() + 1) / 2,
                                     seen[1]));  // strangers only add
    }
    vote.add(std::move(lost));
  }
  session.keep(vote.curve("l2"));
  return vote.statement(evictions, sets.size() * sequences.size() * looks);
}

// Each line found, by how many had been before, and how long a stretch it took with these.
DecidingCurve eviction_curve(std::string_view quantity, const std::vector<EvictionSet>& sets) {
  DecidingCurve curve = make_curve("l2", quantity, {"lines of the set loaded by themselves", "", false},
                                   {"lines walked in order that push one more out with them", "", false});
  for (std::size_t i = 0; i < std::min(sets.size(), most_series); ++i) {
    Series series{fmt::format("line {}", sets[i].lines.back()), {}};
    for (std::size_t k = 0; k + 1 < sets[i].lines.size(); ++k)
      series.points.emplace_back(static_cast<double>(k), static_cast<double>(sets[i].lines[k] + 1));
    series.points.emplace_back(static_cast<double>(sets[i].lines.size() - 1), 0);
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

Expected<void> state_l2_sets(Session& session, const EvictedCache& cache, const CacheFacts& l2, Memory& memory,
                             const L2Part& part, double sides, const EvictionSets& found) {
  const auto ways = static_cast<double>(found.sets.front().lines.size() - 1);
  memory.attributes["ways"] = counted_sets(ways, found.samples);
  memory.attributes["ways"].note = fmt::format("of each of {} sets that were seen", found.sets.size());
  const Interval range = sets_in(part.bytes, ways, l2, sides);
  const bool is_size_known = part.bytes.status == Status::measured;
  const Interval sets_range = is_size_known ? range : Interval{range.low, 4 * range.high};
  auto modulo = modulo_index(session, cache, found.sets, sets_range);
  if (!modulo) return tl::unexpected<Error>(modulo.error());
  const Index index = *modulo ? **modulo : linear_or_hash(found.sets, sets_range);
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
                                  : counted_sets(index.consecutive, index.checks);
  return {};
}

}  // namespace

Expected<void> measure_l2_organisation(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Memory& memory = findings.memory("l2");
  const L2Part part = l2_part_of(findings, *l2);
  if (const std::string why = why_no_sets(part, *l2); !why.empty()) {
    leave_organisation_open(memory, evictions, why);
    return {};
  }
  const EvictedCache cache{l2->line_bytes, static_cast<std::uint64_t>(*part.bytes.value) / l2->line_bytes,
                           part.levels.threshold_cycles, part.levels.false_miss, evicting_sm};
  auto found = find_eviction_sets(session, cache, sets_looked_for);
  if (!found) return tl::unexpected<Error>(found.error());
  if (found->sets.empty()) {
    leave_organisation_open(memory, evictions, "there is no room for a stretch that pushes everything out");
    return {};
  }
  std::string why;
  for (const EvictionSet& set : found->sets) why = set.why_open.empty() ? why : set.why_open;
  std::erase_if(found->sets, [](const EvictionSet& set) { return !set.why_open.empty(); });
  const auto differs = [&](const EvictionSet& s) { return s.lines.size() != found->sets.front().lines.size(); };
  if (2 * found->sets.size() <= sets_looked_for) {
    leave_organisation_open(memory, evictions, why);
    return {};
  }
  for (const char* quantity : {"sets", "ways", "replacement"}) session.keep(eviction_curve(quantity, found->sets));
  if (std::any_of(found->sets.begin(), found->sets.end(), differs)) {
    leave_organisation_open(memory, evictions, "the sets that were seen have different numbers of ways");
    return {};
  }
  double sides = 1;
  if (findings.lines_have_sides && memory.find("partitions") != nullptr) sides = *memory.find("partitions")->value;
  if (auto ok = state_l2_sets(session, cache, *l2, memory, part, sides, *found); !ok) return ok;
  auto replacement = replacement_of(session, cache, found->sets);
  if (!replacement) return tl::unexpected<Error>(replacement.error());
  memory.structure["replacement"] = std::move(*replacement);
  return push_everything_out(session, cache, std::max<std::uint64_t>(32, l2->sector_bytes));
}

}  // namespace gputopo::experiments
