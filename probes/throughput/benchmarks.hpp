// The benchmarks, one file each. Internal to this folder; registry.cpp lists them.
#pragma once

#include <functional>
#include <string_view>

#include "throughput/meter.hpp"
#include "throughput/result.hpp"
#include "topology/topology.hpp"

namespace gputopo::throughput {

/// What a benchmark works with. `sizes` is a discovery's topology, for footprints that fit.
struct Setting {
  Meter& meter;
  const Topology& sizes;
  std::function<void(double)> progress;  ///< share of this benchmark's work done

  /// A memory's size in bytes, measured or told by the driver; 0 where it isn't known.
  std::uint64_t size_of(std::string_view memory) const;
  /// The line of the cache that global loads ask first; 128 where it isn't known.
  std::uint64_t line_bytes() const;
};

Expected<void> measure_bandwidth(const Setting& setting, Result& result);
Expected<void> measure_in_flight(const Setting& setting, Result& result);
Expected<void> measure_requests(const Setting& setting, Result& result);
Expected<void> measure_banks(const Setting& setting, Result& result);
Expected<void> measure_atomics(const Setting& setting, Result& result);

/// Shared memory's banks as experiments show them. Nothing where conflicts don't show.
struct Banks {
  std::uint64_t row_bytes = 0;   ///< from one word of a bank to its next
  std::uint64_t word_bytes = 0;  ///< of a bank
};
Expected<std::optional<Banks>> find_banks(Meter& meter);

}  // namespace gputopo::throughput
