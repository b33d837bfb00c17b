// All latencies of a trace in one histogram with bins of constant relative width.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "change_point/trace.hpp"

namespace gputopo::change_point {

/// One occupied bin. `value` is its lower edge in cycles, which is the latency itself for whole numbers up to 2048.
struct Bin {
  double value = 0;
  std::uint64_t count = 0;
};

/// Occupied bins in ascending order, filled row by row, so that a large trace is read once. Bins are 2^-10 of an
/// octave's width wide, and twice that as often as it takes to stay within `max_bins`. Time is linear in the number of
/// values; values below 2^-10 cycles fall into the first bin.
class LatencyCounts {
 public:
  /// Values from 0 to 1e12.
  void add(const std::vector<double>& values);
  /// All that was added.
  std::vector<Bin> bins(std::size_t max_bins) const;

 private:
  void cover(std::uint32_t low, std::uint32_t high);

  std::uint32_t first_ = 0;  // key of the first count
  std::vector<std::uint64_t> counts_;
};

/// The same of all rows.
std::vector<Bin> latency_histogram(const Trace& trace, std::size_t max_bins);

/// What the clock of these latencies counts in, cycles: 1, on some GPUs 4 or 16; 0 where they aren't whole numbers
/// (averages). Counters are binary, and two latencies have some divisor in common whatever the clock: a power of two.
double clock_quantum(std::span<const Bin> bins);

}  // namespace gputopo::change_point
