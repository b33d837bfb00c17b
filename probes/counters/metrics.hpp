// Which counter stands for which memory, chip by chip (docs/counters.md).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "error/error.hpp"

namespace gputopo::counters {

/// What counts the traffic of one memory, in a single launch.
struct MemoryMetrics {
  std::string_view memory;  ///< a Memory id
  std::string_view loads;   ///< load instructions of the kind that looks here; one thread's load is one instruction;
                            ///< empty where none are counted
  std::string_view misses;  ///< lookups that had to ask the next level; for device memory the sectors read
  std::size_t passes = 1;   ///< of both together
};

/// What counts the bytes that a memory gave and took, in pieces of `unit_bytes`, or of an access where that is less.
struct ByteMetrics {
  std::string_view memory;  ///< a Memory id, or "host_link"
  std::string_view given;   ///< of caches of an SM: of lookups that hit
  std::string_view taken;   ///< empty where nobody writes
  std::size_t unit_bytes = 1;
  bool counts_headers = false;  ///< also what isn't data: more than it by some percent
};

struct Chip {
  std::string_view name;  ///< as CUPTI has it
  std::span<const MemoryMetrics> memories;
  std::span<const ByteMetrics> bytes;

  /// Nothing where this chip has no such counter.
  const MemoryMetrics* find(std::string_view memory) const;
  const ByteMetrics* find_bytes(std::string_view memory) const;
};

/// What each slice of the L2 counts for itself: cycles in which it took atomics to carry out, wherever they came from;
/// all chips have it. Without a rollup: ".sum" is of all slices, ".max" the busiest one's, ".avg" the mean of all that
/// the GPU has.
inline constexpr std::string_view slice_atomics = "lts__d_atomic_input_cycles_active";

/// Every chip whose counters are known: Volta to Blackwell.
std::span<const Chip> chips();

/// `unavailable` for a chip that isn't in the table: another chip's counters are never tried.
Expected<Chip> find_chip(std::string_view name);

/// Bytes of one of the sectors that the L2's and device memory's metrics count.
inline constexpr std::size_t sector_bytes = 32;

}  // namespace gputopo::counters
