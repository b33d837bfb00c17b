// All latencies of a trace in one histogram with bins of constant relative width.
#pragma once

#include <cstdint>
#include <vector>

#include "change_point/finding.hpp"

namespace gputopo::change_point {

/// One occupied bin. `value` is its lower edge in cycles, which is the latency itself for whole numbers up to 2048.
struct Bin {
  double value = 0;
  std::uint64_t count = 0;
};

/// Occupied bins in ascending order. Bins are 2^-10 of an octave's width wide, and twice that as often as it takes to
/// stay within `max_bins`. Time is linear in the number of values; values below 2^-10 cycles fall into the first bin.
std::vector<Bin> latency_histogram(const Trace& trace, std::size_t max_bins);

}  // namespace gputopo::change_point
