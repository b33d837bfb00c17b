// Is there a cache behind the L2? What it just lost comes from memory, or sooner: from a cache that still has it. Where
// there is none, sets of SMs that share what they brought in, near and far, are its sides.
#include <fmt/format.h>

#include "evidence/latency.hpp"
#include "evidence/modes.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

namespace {

constexpr std::uint64_t lines = 384;
constexpr std::uint64_t stride_bytes = 1152;  // as memory's loads are timed (device_memory.cpp)
constexpr std::size_t looks = 3;

// Lines that half as much again as the L2 holds came after, a cache behind holds twice as much at least
// (docs/domain.md).
program::Program just_lost(Session& session, std::uint64_t l2_bytes) {
  program::Program p = make_program(fmt::format("l2 lines behind {} KiB", l2_bytes >> 10), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  const std::uint64_t evicting = l2_bytes * 3 / 2;
  p.buffers[slot_flush].size_bytes = std::max(evicting + lines * stride_bytes, slot_bytes);
  const program::Walk evict = by_all_lanes(make_walk(l2_path, evicting, 32, 1), session.info());
  program::Walk look = make_walk(l2_path, lines * stride_bytes, stride_bytes, 1);
  look.first_byte = evicting;
  p.phases = {look, evict, recorded(look, program::Record::histogram, 1)};
  return p;
}

}  // namespace

Expected<void> measure_l2_behind(Session& session, Findings& findings) {
  CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present || l2->next_level || l2->capacity_bytes == 0 || !l2->levels.usable()) return {};
  if (l2->capacity_bytes > session.info().largest_buffer_bytes / 2) return {};
  auto traces = session.run(program::Batch(looks, just_lost(session, l2->capacity_bytes)));
  if (!traces) return tl::unexpected<Error>(traces.error());
  Histogram all;
  for (const auto& trace : *traces) all = merged(all, trace.phases.back().histogram);
  if (findings.beyond_own_l2 && findings.l2_sets) {
    // What the other set has counts as a hit here, be it on another side or in a cache behind, which would have these.
    constexpr double all_but_few = 0.9;
    const auto loads = static_cast<double>(total(all));
    l2->is_before_memory = static_cast<double>(count_from(all, l2->levels.threshold_cycles)) > all_but_few * loads;
    if (l2->is_before_memory && findings.memory("l2").find("partitions") == nullptr) findings.state_sides_by_sets();
    return {};
  }
  // A threshold halfway to memory may lie above what is between.
  const Histogram lost = between(all, upper_fence(l2->levels.hit), 1e9);
  if (2 * total(lost) <= total(all)) return {};
  const Mode nearest = lowest_mode(lost);
  if (nearest.centre * half_a_level < whole_mode(l2->levels.next).centre) {
    if (levels_of(lost, l2->levels.next).usable()) l2->next_level = nearest;
    return {};
  }
  l2->is_before_memory = true;
  return {};
}

}  // namespace gputopo::experiments
