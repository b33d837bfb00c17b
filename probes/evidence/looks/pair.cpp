#include "evidence/looks/pair.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gputopo::evidence {
namespace {

// What is kept is loaded once: an H200's L1 keeps four of five lines that were loaded again from any number of others'.
// Hardly a line survives two capacities, whatever is replaced.
constexpr std::uint64_t capacities = 2;

// Where the other walks: behind everything that fills walk, so that no line is both kept and brought in.
program::Walk walk_of_other(const device::DeviceInfo& info, const CacheFacts& kept, const CacheFacts& evictor,
                            std::uint64_t bytes) {
  program::Walk walk = make_walk(evictor.path, bytes, evictor.stride(), 1);
  const std::uint64_t half = room_of(info, evictor.path.slot) / 2;
  if (kernels_read(evictor.path.slot)) walk.footprint_bytes = std::min(bytes, half);
  if (kept.path.slot == evictor.path.slot) walk.first_byte = half / kept.stride() * kept.stride();
  return walk;
}

// One list of jumps, which holds as many on every device: a nearest cache of instructions is far smaller.
constexpr std::uint64_t most_jumps_held = 2048;

// Of the nearest cache of instructions the kernel's own code takes a part, and all of it what runs between walks.
bool is_beside_code(const CacheFacts& cache) {
  return cache.path.slot == slot_code && cache.front_capacity_bytes == 0;
}

std::uint64_t kept_bytes_of(const CacheFacts& kept) {
  return is_beside_code(kept) ? kept.capacity_bytes / 4 : kept.capacity_bytes * 2 / 3;
}

}  // namespace

std::size_t repetitions_of(const CacheFacts& kept) {
  constexpr std::uint64_t enough_lines = 64, most = 8;
  if (kept.path.slot != slot_code) return 1;
  return std::clamp<std::uint64_t>(enough_lines / std::max<std::uint64_t>(1, kept_bytes_of(kept) / kept.stride()), 1,
                                   most);
}

program::Program pair_program(const device::DeviceInfo& info, const PairSpec& spec) {
  const CacheFacts& kept = *spec.kept;
  const CacheFacts& evictor = spec.evictor == nullptr ? kept : *spec.evictor;
  program::Program p =
      make_program(fmt::format("{} against {} others by {}", kept.path.id, spec.others.size(), evictor.path.id), info,
                   std::max(kept.path.slot, evictor.path.slot));
  p.isolation = spec.isolation;
  p.agents = {spec.first};
  p.agents.insert(p.agents.end(), spec.others.begin(), spec.others.end());
  const program::Walk fill = make_walk(kept.path, kept_bytes_of(kept), kept.stride(), 1);
  const auto quick = [&](const program::Walk& walk, Slot slot) {
    return spec.by_all_lanes && slot != slot_constant ? by_all_lanes(walk, info) : walk;
  };
  program::Walk first = quick(fill, kept.path.slot);
  const std::uint64_t all = capacities * evictor.capacity_bytes;
  const std::uint64_t evicting = spec.evictor == nullptr ? evictor.stride() : all;
  // However many the others are: a pair's controls hold what the pair does.
  const std::uint64_t jumps = 2 * fill.footprint_bytes / fill.stride_bytes + all / evictor.stride();
  first.holds = is_beside_code(kept) && is_beside_code(evictor) && jumps <= most_jumps_held;
  p.phases = {first};
  for (std::uint32_t agent = 0; agent < std::max<std::size_t>(1, spec.others.size()); ++agent) {
    program::Walk other = walk_of_other(info, kept, evictor, evicting);
    other.agent = spec.others.empty() ? 0 : agent + 1;
    // The longer a turn is waited for, the more code of the wait's own there is to push others out.
    if (spec.evictor == nullptr && evictor.path.slot == slot_code)
      other.laps = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, all / evictor.stride()));
    p.phases.emplace_back(quick(other, evictor.path.slot));
  }
  p.phases.emplace_back(recorded(fill, program::Record::histogram, 1));
  return p;
}

Tally tally_of(const program::ProgramTrace& trace, const Levels& levels, double front_threshold_cycles) {
  const auto& histogram = trace.phases.back().histogram;
  const std::uint64_t told = count_from(histogram, front_threshold_cycles);
  // Where the cache in front answered most of them, the others are its strangers.
  if (2 * told < total(histogram)) return {};
  return {static_cast<double>(told), static_cast<double>(count_from(histogram, levels.threshold_cycles))};
}

}  // namespace gputopo::evidence
