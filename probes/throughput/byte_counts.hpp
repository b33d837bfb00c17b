// Bytes by hardware counters beside bytes by count.
#pragma once

#include <vector>

#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {

/// The stream that reached a finding of a result.
struct Reached {
  std::size_t finding = 0;
  program::Stream stream;
};

/// Runs each stream once more under the counters of its finding's memory and adds what they say. A finding that they
/// contradict by more than 1 % is an error of the measurement, says so, and is inconclusive; not so one that is of all
/// SMs reading the same bytes, since requests of several SMs are one before they come to the L2, and not so a counter
/// that sees headers as well and more than was asked for. Where nobody may count, or nobody asks for it, the result
/// says at most why; a simulated GPU has nothing to count.
Expected<void> count_bytes(const Setting& setting, const std::vector<Reached>& reached, Result& result);

}  // namespace gputopo::throughput
