// How much memory's lines differ in latency, as one SM sees them: by channel and distance, and from load to load.
#include <algorithm>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/lines/line_spread.hpp"
#include "evidence/looks/structure.hpp"
#include "evidence/memory/cold_memory.hpp"
#include "evidence/memory/kept_translation.hpp"
#include "experiments/experiments.hpp"
#include "program/order.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::uint64_t spread_lines = 1021;  // the last one is loaded before, too
// 33 lines of 128 B: over all channels and slices, in pages that the smallest TLB there has been knows all of.
constexpr std::uint64_t spread_apart_bytes = 33 * 128;
constexpr std::uint64_t translating_lines = 15;  // one in each 64 KiB at least
constexpr std::uint64_t spread_room_bytes =
    (spread_lines / translating_lines + 1) * translating_lines * spread_apart_bytes;

struct LinesLooked {
  LooksByLine cold;
  std::optional<std::string_view> untranslated;  // why what they take needn't be memory's
};

// What one look does: its program, and where in its traces what it looked at lies.
struct LineLook {
  program::Program program;
  program::Stepping order;          // of the lines
  std::vector<std::uint64_t> some;  // of those looked at again, which ones by themselves, too
};

// Each look in an order of its own: memory holds loads up at the same times after what came before, look for look
// (refreshes, by what an H200 shows), and in one order these would be the same lines every time.
LineLook look_in_order(const ColdMemory& cold, std::uint64_t l2_bytes, std::uint64_t seed) {
  LineLook look{cold.program("lines of memory"), program::stepping(program::Order::shuffled, seed, spread_lines), {}};
  program::Walk walk = recorded(make_walk(l2_path, spread_lines * spread_apart_bytes, spread_apart_bytes, 1),
                                program::Record::latencies, 1);
  walk.first_byte = cold.begin();
  walk.order = program::Order::shuffled;  // none right after one of its own row of DRAM
  walk.order_seed = seed;
  // One line in 15, in each 64 KiB, isn't looked at but loaded before: what translation takes belongs to no line.
  program::Walk translate = make_walk(l2_path, spread_room_bytes, translating_lines * spread_apart_bytes, 1);
  translate.first_byte = cold.begin();
  // As many of them as the L2 keeps twice more, the second time from there, and then some by themselves: whether
  // their translation was there.
  constexpr std::uint64_t least = 72, longest_line = 256;
  constexpr double by_themselves = 96;
  const std::uint64_t again_lines = std::clamp(l2_bytes / longest_line / 4, least, spread_lines);
  // Some all over them, at no equal distances: what a TLB loses may recur.
  const double share = std::min(1.0, by_themselves / static_cast<double>(again_lines));
  program::Walk again = walk;
  again.loads_per_lap = again_lines;
  program::Walk bring = again;
  bring.record = program::Record::nothing;
  look.program.phases = {translate, walk, bring, again};
  for (std::uint64_t k = 0, line = look.order.first; k < again_lines; ++k) {
    const program::Walk load = cold.load(line * spread_apart_bytes);
    if (even_place(k) < share) {
      look.some.push_back(k);
      look.program.phases.insert(look.program.phases.end(), {load, recorded(load, program::Record::latencies, 1)});
    }
    line = program::advance(line, look.order.step, spread_lines);
  }
  return look;
}

Expected<std::optional<LinesLooked>> look_at_lines(ColdMemory& cold, std::uint64_t l2_bytes) {
  LinesLooked looked;
  LooksByLine& looks = looked.cold;
  looks.resize(spread_lines);
  ColdMemory::Pairs pairs;
  for (std::size_t i = 0; i < looks_at_a_line; ++i) {
    const LineLook look = look_in_order(cold, l2_bytes, i + 1);
    auto traces = cold.run({look.program});
    if (!traces) return tl::unexpected<Error>(traces.error());
    if (!*traces) return std::optional<LinesLooked>();
    const auto& phases = (*traces)->back().phases;
    std::uint64_t line = look.order.first;
    for (const std::uint32_t cycles : phases[1].latencies) {
      looks[line].push_back(cycles);
      line = program::advance(line, look.order.step, spread_lines);
    }
    for (std::size_t j = 0; j < look.some.size(); ++j)
      pairs.emplace_back(phases[3].latencies[look.some[j]], phases[5 + 2 * j].latencies.front());
  }
  looked.untranslated = why_untranslated(ColdMemory::are_alike(pairs));
  for (std::uint64_t line = 0; line < spread_lines; line += translating_lines) looks[line].clear();
  std::erase_if(looks, [](const auto& of_line) { return of_line.empty(); });
  return std::optional(std::move(looked));
}

void leave_spread_open(Memory& memory, std::string_view why) {
  for (const char* name : {"latency_low", "latency_middle", "latency_high", "latency_excess"})
    memory.attributes[name] = inconclusive("cycles", "looks_by_line", why);
  memory.structure["latency_by_line"] = undecided("looks_by_line", why);
}

}  // namespace

Expected<void> measure_memory_lines(Session& session, Findings& findings) {
  const CacheFacts* facts = findings.cache("device_memory");
  if (facts == nullptr) return {};
  Memory& memory = findings.memory("device_memory");
  ColdMemory cold(session, facts->capacity_bytes, spread_room_bytes);
  if (!cold.fits()) {
    leave_spread_open(memory, "memory has no room for it behind what empties the L2");
    return {};
  }
  auto looks = look_at_lines(cold, findings.near_l2_bytes(session.info()).value_or(0));
  if (!looks) return tl::unexpected<Error>(looks.error());
  if (!*looks) {
    leave_spread_open(memory, "a neighbour on the GPU left no time for it");
    return {};
  }
  auto untranslated = why_untranslated(session, findings);
  if (!untranslated) return tl::unexpected<Error>(untranslated.error());
  if (const auto why = (*looks)->untranslated ? (*looks)->untranslated : *untranslated) {
    leave_spread_open(memory, *why);
    return {};
  }
  LineSpread spread = line_spread((*looks)->cold);
  const double clock = facts->overhead_cycles;
  memory.attributes["latency_low"] = without_clock(spread.low, clock);
  memory.attributes["latency_middle"] = without_clock(spread.middle, clock);
  memory.attributes["latency_high"] = without_clock(spread.high, clock);
  memory.attributes["latency_excess"] = spread.slow_load;
  memory.structure["latency_by_line"] = spread.by_line;
  DecidingCurve curve = make_curve(memory.id, "latency_by_line", {"latency without the clock", "cycles", false},
                                   share_axis("lines and of loads"));
  for (double& cycles : spread.own) cycles -= clock;
  curve.series = {share_up_to("lines, each by its undisturbed loads", std::move(spread.own)),
                  share_up_to("single loads", histogram_of((*looks)->cold), clock)};
  session.keep(std::move(curve));
  return {};
}

}  // namespace gputopo::experiments
