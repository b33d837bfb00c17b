// Which side of a two-sided L2 is the home of each line, by the time of atomics, which are carried out there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {

struct Homes {
  std::vector<std::uint8_t> side_of_sm;
  std::vector<std::uint8_t> side_of_line;  ///< of a buffer's first lines
  double least_correlation = 0;            ///< of an SM's latencies with those of the first one
  std::uint64_t doubtful = 0;              ///< lines whose two times differ by less than half of the usual
};

/// Of the first `lines` lines of a workload's first buffer, `buffer_bytes` long. Nothing where the SMs' latencies don't
/// fall into two opposite patterns. Errors: Device::run_workload's.
Expected<std::optional<Homes>> find_homes(const Setting& setting, std::uint32_t lines, std::uint64_t buffer_bytes);

inline constexpr std::uint64_t home_line_bytes = 128;

}  // namespace gputopo::throughput
