// Sets of a cache with too many lines to time each: of a stretch that pushes a line out, the shortest beginning that
// does ends with a line of its set. That one is taken by itself from then on and the stretch halved again, until
// the lines found suffice: they are as many as the set has ways. (Finding eviction sets in logarithmic time is
// Vila, Köpf and Morales, "Theory and Practice of Finding Eviction Sets", 2019; here by the order of the least recently
// used, and held against every policy afterwards.)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evidence/levels.hpp"
#include "evidence/session.hpp"

namespace gputopo::evidence {

/// The cache as one SM finds it, in lines of the flush slot.
struct EvictedCache {
  std::uint64_t line_bytes = 0;
  std::uint64_t capacity_lines = 0;  ///< about as many as it holds for that SM
  double threshold_cycles = 0;       ///< as timed: what takes longer was pushed out
  double false_miss = 0;             ///< share of hits that takes longer all the same
  std::uint32_t sm = 0;
};

/// Lines of one set, a line more than it has ways; which they are was checked: all together push one another out, and
/// without any one of them none goes.
struct EvictionSet {
  std::vector<std::uint64_t> lines;
  std::string why_open;  ///< not empty: the lines aren't known
};

/// Some sets, and the loads that it took.
struct EvictionSets {
  std::vector<EvictionSet> sets;
  std::uint64_t samples = 0;
};

/// The sets of `count` lines that lie behind the stretch that is walked. Errors are the session's.
Expected<EvictionSets> find_eviction_sets(Session& session, const EvictedCache& cache, std::size_t count);

/// Walks the whole stretch, every sector of it: whoever looks at the cache next finds nothing of these sets.
Expected<void> push_everything_out(Session& session, const EvictedCache& cache, std::uint64_t sector_bytes);

/// Whether each line is pushed out by those that follow it, in order.
Expected<std::vector<bool>> are_pushed_out(Session& session, const EvictedCache& cache,
                                           std::span<const std::vector<std::uint64_t>> lines);

/// What a set's lines lose when they are loaded in a sequence of places among them: one number of misses a sequence,
/// in its second half, of `looks` each.
Expected<std::vector<std::vector<std::uint64_t>>> misses_of_sequences(
    Session& session, const EvictedCache& cache, std::span<const std::uint64_t> lines,
    std::span<const std::vector<std::uint32_t>> sequences, std::size_t looks);

}  // namespace gputopo::evidence
