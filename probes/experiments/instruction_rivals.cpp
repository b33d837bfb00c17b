#include "experiments/instruction_rivals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/pair.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;
using program::Walk;

namespace {

constexpr std::uint32_t laps_of_others = 3;
constexpr std::uint64_t shortest_sector_bytes = 32;
constexpr std::uint64_t few_bytes = 4 << 10;  // fit into every L2
constexpr std::uint64_t enough_jumps = 32;    // to tell all from a few

Walk code_walk(const CacheFacts& cache) {
  const std::uint64_t stride = cache.stride();
  return make_walk(cache.path, cache.capacity_bytes * 7 / 8 / stride * stride, stride, cache.warm_laps);
}

// Code, then what others load, then the code again.
program::Program beside(const device::DeviceInfo& info, const CacheFacts& cache, const Walk& code, const Walk& others) {
  program::Program p =
      make_program(fmt::format("{} beside {}", cache.path.id, program::to_string(others.path)), info, slot_code);
  p.isolation = Scope::gpu;
  if (others.path == l2_path.path) p.buffers[slot_flush].size_bytes = std::max(slot_bytes, others.footprint_bytes);
  p.phases = {code, others, recorded(code, program::Record::histogram, 1)};
  return p;
}

Walk more_code(const device::DeviceInfo& info, const CacheFacts& cache, std::uint64_t bytes) {
  const std::uint64_t stride = cache.stride(), before = code_walk(cache).footprint_bytes;
  bytes = std::min(bytes, info.code_bytes - before);
  Walk more = make_walk(cache.path, std::max(stride, bytes / stride * stride), stride, laps_of_others);
  more.first_byte = before;
  return more;
}

// How much of code that nearly fills the cache `others` push out, and as many loads of `few`, which the same
// instructions make.
Expected<std::array<Tally, 3>> code_lost_to(Session& session, const CacheFacts& cache, const Walk& others, Walk few) {
  few.laps = others.laps;
  few.loads_per_lap = program::lap_loads(others);
  const device::DeviceInfo& info = session.info();
  const Walk code = code_walk(cache);
  program::Batch batch;
  for (std::uint64_t looks = 0; looks < enough_jumps; looks += program::lap_loads(code))
    batch.insert(batch.end(), {beside(info, cache, code, others),
                               beside(info, cache, code, more_code(info, cache, others.footprint_bytes)),
                               beside(info, cache, code, few)});
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::array<Tally, 3> seen;
  for (std::size_t i = 0; i < traces->size(); ++i) {
    const Tally one = tally_of((*traces)[i], cache.levels, cache.front_threshold_cycles);
    Tally& sum = seen[i % seen.size()];
    sum = {sum.loads + one.loads, sum.misses + one.misses};
  }
  return seen;
}

// What the L2 holds, as measured or, where that isn't known, as the driver says; 0 where neither is known. Nothing
// where there is none.
std::optional<std::uint64_t> l2_bytes(const Session& session, const Findings& findings) {
  if (!findings.near_l2_bytes(session.info())) return std::nullopt;
  const auto l2 = findings.caches.find("l2");
  const bool is_measured = l2 != findings.caches.end() && l2->second.capacity_bytes != 0;
  return is_measured ? l2->second.capacity_bytes : session.info().l2_bytes;
}

}  // namespace

bool is_constants_before_l2(Findings& findings, const InstructionCache& cache) {
  const CacheFacts* constants = findings.cache(constant_l1_5_path.id);
  const Memory* memory = findings.topology.find(constant_l1_5_path.id);
  const Estimate* penalty = memory == nullptr ? nullptr : memory->find("miss_penalty");
  const auto shared = cache.memory.structure.find("constants");
  return constants != nullptr && constants->present && penalty != nullptr && penalty->has_value() &&
         shared != cache.memory.structure.end() && shared->second.value == "same" &&
         cache.facts.capacity_bytes == constants->capacity_bytes;
}

Expected<std::optional<Sameness>> loses_to_l2(Session& session, Findings& findings, const InstructionCache& cache,
                                              std::uint64_t asked_bytes) {
  const auto bytes = l2_bytes(session, findings);
  if (!bytes) return std::optional<Sameness>();
  CacheFacts facts = cache.facts;
  facts.line_bytes = facts.sector_bytes = asked_bytes;
  if (facts.capacity_bytes == 0) facts.capacity_bytes = cache.level.held_bytes;
  if (!facts.can_be_filled() || *bytes == 0) return std::optional(Sameness{});
  // However much the L2 holds it may lose code long before: where others take turns, or where it doesn't choose the
  // longest unused of many lines.
  const std::uint64_t pushing = std::min(4 * *bytes, session.info().largest_buffer_bytes / 2);
  const CacheFacts* l2 = findings.cache("l2");
  const std::uint64_t stride = l2 != nullptr ? l2->stride() : shortest_sector_bytes;
  const auto loads_of = [&](std::uint64_t n) { return by_all_lanes(make_walk(l2_path, n, stride, 1), session.info()); };
  auto looks = if_available(code_lost_to(session, facts, loads_of(pushing), loads_of(few_bytes)));
  if (!looks) return tl::unexpected<Error>(looks.error());
  if (!*looks) return std::optional(Sameness{});
  const auto& seen = **looks;
  // Of four times what it holds it keeps none: of what one miss brings in all but the first is there again.
  const Tally all{seen[0].loads, seen[0].loads * static_cast<double>(asked_bytes) /
                                     static_cast<double>(std::max(asked_bytes, cache.facts.stride()))};
  // What a few loads push most of out, with the code that makes them, isn't in the L2.
  if (2 * seen[2].misses > seen[2].loads) return std::optional(Sameness{0, true});
  return std::optional(sameness(seen[0], all, seen[2]));
}

Expected<std::optional<bool>> is_l2_behind(Session& session, Findings& findings, const InstructionCache& last) {
  const auto l2 = l2_bytes(session, findings);
  if (!l2) return std::optional(true);
  if (is_constants_before_l2(findings, last)) return std::optional(true);
  if (*l2 == 0) return std::optional<bool>();
  const std::uint64_t bytes = std::min(2 * *l2, session.info().largest_buffer_bytes / 2);
  const std::uint64_t block = session.info().code_block_bytes;
  const std::uint64_t code = std::min(last.level.lost_from_bytes, session.info().code_bytes) / block * block;
  const Walk walk = make_walk(last.facts.path, code, block, last.facts.warm_laps);
  const Walk all = by_one_warp(make_walk(l2_path, bytes, shortest_sector_bytes, 1));
  Walk few = by_one_warp(make_walk(l2_path, few_bytes, shortest_sector_bytes, 1));
  few.loads_per_lap = program::lap_loads(all);
  auto traces = if_available(
      session.run({beside(session.info(), last.facts, walk, few), beside(session.info(), last.facts, walk, all)}));
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return std::optional<bool>();
  std::vector<Histogram> seen;
  for (const program::ProgramTrace& trace : **traces)
    seen.push_back(between(recorded_histogram(trace), last.facts.levels.threshold_cycles, 1e9));
  return std::optional(!are_alike(seen[0], seen[1], last.facts.overhead_cycles, session.clock_share()));
}

Expected<void> measure_constants_beside_code(Session& session, InstructionCache& cache) {
  Memory& memory = cache.memory;
  if (session.info().constant_modules == 0 || !cache.facts.can_be_filled()) {
    memory.structure["constants"] = undecided("eviction", "needs the size, and constants");
    return {};
  }
  const std::uint64_t bytes = session.info().constant_bytes_per_module;
  constexpr std::uint64_t least_line = 32;
  auto seen = code_lost_to(session, cache.facts, make_walk(constant_path, bytes, least_line, laps_of_others),
                           make_walk(constant_path, least_line, least_line, laps_of_others));
  if (!seen) return tl::unexpected<Error>(seen.error());
  DecidingCurve curve = lost_to_curve(cache.facts.path.id, "constants");
  const auto of_code = std::span(*seen).last(1);
  add_lost_to(curve, {"code to constants", static_cast<double>(bytes), {(*seen)[0]}}, of_code);
  add_lost_to(curve, {"code to other code (control)", static_cast<double>(bytes), {(*seen)[1]}}, of_code);
  session.keep(std::move(curve));
  const Sameness s = sameness((*seen)[0], (*seen)[1], (*seen)[2]);
  const auto samples = static_cast<std::uint64_t>((*seen)[0].loads);
  memory.structure["constants"] =
      s.decided ? decided(std::string(verdict_of(s)), "eviction", samples, s.sure())
                : undecided("eviction", "constants push out some code, but not as one cache would");
  return {};
}

}  // namespace gputopo::experiments
