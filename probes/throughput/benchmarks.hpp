// The benchmarks, one file each. Internal to this folder; registry.cpp lists them.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "throughput/meter.hpp"
#include "throughput/registry.hpp"
#include "throughput/result.hpp"
#include "topology/topology.hpp"

namespace gputopo::throughput {

/// What a benchmark works with. `sizes` is a discovery's topology, for footprints that fit.
struct Setting {
  Meter& meter;
  const Topology& sizes;
  std::function<void(double)> progress;        ///< share of this benchmark's work done
  OpenCounter open_counter = {};               ///< the device's hardware counters; empty: nobody asks for them
  std::span<const std::string> memories = {};  ///< whose bandwidth is wanted; empty: all
  bool plots = true;                           ///< also what only plots show, where that takes time
  Effort effort = Effort::full;

  bool wants(std::string_view memory) const {
    return memories.empty() || std::find(memories.begin(), memories.end(), memory) != memories.end();
  }

  /// A memory's size in bytes, measured or told by the driver; 0 where it isn't known.
  std::uint64_t size_of(std::string_view memory) const;
  /// The line of a cache; 128 where it isn't known.
  std::uint64_t line_bytes(std::string_view memory) const;
};

Expected<void> measure_bandwidth(const Setting& setting, Result& result);
Expected<void> measure_in_flight(const Setting& setting, Result& result);
Expected<void> measure_requests(const Setting& setting, Result& result);
Expected<void> measure_banks(const Setting& setting, Result& result);
Expected<void> measure_atomics(const Setting& setting, Result& result);
Expected<void> measure_traffic(const Setting& setting, Result& result);
Expected<void> measure_sides(const Setting& setting, Result& result);
Expected<void> measure_placement(const Setting& setting, Result& result);
Expected<void> measure_spilling(const Setting& setting, Result& result);
Expected<void> measure_clusters(const Setting& setting, Result& result);
Expected<void> measure_instructions(const Setting& setting, Result& result);
Expected<void> measure_histogram(const Setting& setting, Result& result);

/// Additions without an answer that lanes make in a cycle: of the GPU in global memory, of an SM in shared memory.
struct AdditionRates {
  double address = 0;  ///< all to one address
  double sectors = 0;  ///< each lane of a warp to another sector of 32 B, the same for all warps; 0 in shared memory
  double rows = 0;     ///< a warp to a line, of 1 KiB that is the same for all; 0 in shared memory
  double spread = 0;   ///< to an address of each thread's
};
Expected<AdditionRates> addition_rates(const Setting& setting, program::Path path);

/// Shared memory's banks as experiments show them. Nothing where conflicts don't show.
struct Banks {
  std::uint64_t row_bytes = 0;   ///< from one word of a bank to its next
  std::uint64_t word_bytes = 0;  ///< of a bank
};
Expected<std::optional<Banks>> find_banks(Meter& meter);

}  // namespace gputopo::throughput
