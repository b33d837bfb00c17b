// The line size, from footprint sweeps at several strides.
//
// A walk with a stride of at most a line touches every line of its footprint: misses set in at the same footprint C
// whatever the stride. With a longer stride s only L/s of the lines are touched, and misses don't set in before C s / L
// (Wong et al., "Demystifying GPU Microarchitecture through Microbenchmarking", ISPASS 2010; Mei & Chu, TPDS 28, 2017).
// A stride that is a power of two times the line uses a part of the sets only and may overflow at C again: it says
// nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "change_point/finding.hpp"

namespace gputopo::change_point {

/// One stride (bytes) and its sweep: rows of footprints (bytes) with the latencies of a warm lap (cycles).
struct StrideSweep {
  double stride_bytes = 0;
  Trace trace;
};

/// The line size in bytes as one of the strides; `low` and `high` are the strides with a posterior probability of at
/// least 5 %. A lower bound if even the longest stride misses like the shorter ones, an upper bound if the shortest
/// stride is already the only one that does, inconclusive if no footprint overflows, if all of them do, or if no line
/// size explains the strides. Sweeps may come in any order; at least two strides. Time
/// grows with the loads, and with the square of the strides.
Finding find_line_size(std::span<const StrideSweep> sweeps, const Options& options);

}  // namespace gputopo::change_point
