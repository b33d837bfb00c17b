// Bytes between L2 and memory of the strided product as counters count them, and what waits in the L2 at its end.
#pragma once

#include <cstdint>
#include <vector>

#include "program/workload.hpp"
#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {

struct ProductRun {
  std::uint64_t elements = 0;
  std::uint64_t stride = 1;
  std::uint32_t fetch_bytes = 0;  ///< asked for; 0: as the driver has it
};

struct CountedTraffic {
  program::MemoryTraffic kernel;  ///< until its end
  program::MemoryTraffic later;   ///< what it left in the L2, by a sweep behind it that pushes everything out
  double all() const { return kernel.read + kernel.written + later.read + later.written; }
};

/// One a run, each the median of `runs_of_traffic` (of a simulated GPU, where nothing scatters, of one). What a launch
/// takes by itself, and what a sweep reads that nothing else left behind, is counted by the same launches of a product
/// of one element and subtracted. Errors: the counter's and the device's; `unavailable` where nobody may count.
Expected<std::vector<CountedTraffic>> count_products(const Setting& setting, const std::vector<ProductRun>& runs);

inline constexpr int runs_of_traffic = 3;

/// Of the vectors of so many elements and a sweep; what a GPU has to have room for.
std::uint64_t bytes_of_products(std::uint64_t elements);

}  // namespace gputopo::throughput
