// Which counter stands for which memory, chip by chip (docs/counters.md).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "topology/error.hpp"

namespace gputopo::counters {

/// What counts the traffic of one memory, in a single launch.
struct MemoryMetrics {
  std::string_view memory;  ///< a Memory id
  std::string_view loads;   ///< load instructions of the kind that looks here; one thread's load is one instruction
  std::string_view misses;  ///< lookups that had to ask the next level; for device memory the sectors read
  std::size_t passes = 1;   ///< of both together
};

struct Chip {
  std::string_view name;  ///< as CUPTI has it
  std::span<const MemoryMetrics> memories;

  /// Nothing where this chip has no such counter.
  const MemoryMetrics* find(std::string_view memory) const;
};

/// Every chip whose counters are known: Volta to Blackwell.
std::span<const Chip> chips();

/// `unavailable` for a chip that isn't in the table: another chip's counters are never tried.
Expected<Chip> find_chip(std::string_view name);

/// Bytes of one of the sectors that the L2's and device memory's metrics count.
inline constexpr std::size_t sector_bytes = 32;

}  // namespace gputopo::counters
