// Does one walk push out what another brought in? The program behind scope, instances and sharing, and its controls.
#pragma once

#include <optional>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Who walks what. Both walk a part of the kept cache's capacity, in memory of their own: together they don't fit into
/// one cache, each alone does.
struct PairSpec {
  const CacheFacts* kept = nullptr;     ///< what is filled first and looked for afterwards
  const CacheFacts* evictor = nullptr;  ///< how the others walk; null: one line only (of code as long as more would
                                        ///< take), the control of 'apart'
  program::Agent first;                 ///< who fills and looks
  std::vector<program::Agent> others;   ///< who walks in between, one after another
  Scope isolation = Scope::sm;
  bool by_all_lanes = false;  ///< fill and evict with whole blocks: faster, where it doesn't matter which warp loads
};

/// `first` fills two thirds of the kept cache (of the nearest one of instructions, where the kernel's own code between
/// walks takes room, a quarter), the others walk as much as theirs holds, `first` looks again.
/// Taking turns costs lines by itself on some GPUs, so the control takes turns alike.
program::Program pair_program(const device::DeviceInfo& info, const PairSpec& spec);

/// How often to run a pair's program so that enough lines are looked at: instructions' nearest caches keep few.
std::size_t repetitions_of(const CacheFacts& kept);

/// Loads and misses of the look; what is faster than `front_threshold_cycles`, a cache in front answered. None where that
/// answered most of them.
Tally tally_of(const program::ProgramTrace& trace, const Levels& levels, double front_threshold_cycles = 0);

}  // namespace gputopo::evidence
