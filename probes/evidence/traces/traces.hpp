// From anybody's trace to an Estimate: loads are told apart into levels, counted, and the inference sees the counts.
#pragma once

#include <cstdint>
#include <span>

#include "change_point/trace.hpp"
#include "topology/estimate.hpp"

namespace gputopo::evidence {

struct TraceOptions {
  enum class Method { standard, thesis };
  Method method = Method::standard;
  std::uint64_t seed = 1;  ///< of permutations
};

/// The largest control value before capacity misses set in ("the largest footprint that fits"), B. Rows are footprints.
/// Time grows with the loads, and with the square of the rows where they rise all the way.
Estimate find_size(const change_point::Trace& trace, const TraceOptions& options = {});

/// The same by the thesis's statistics: geometric mapping, optimal single split by L2 cost, Kolmogorov-Smirnov test
/// (Größler, "Capturing the Memory Topology of GPUs", TUM 2022, section 3.3). Rows of which the test couldn't tell
/// whether they differ, being too few, are left out of what it says; fewer than 8 are `inconclusive`.
Estimate find_size_by_thesis(const change_point::Trace& trace, const TraceOptions& options = {});

/// The line size in bytes as one of the strides, from footprint sweeps at several strides, at least two, in any order.
///
/// A walk with a stride of at most a line touches every line of its footprint: misses set in at the same footprint C
/// whatever the stride. With a longer stride s only L/s of the lines are touched, and misses don't set in before C s /
/// L (Wong et al., "Demystifying GPU Microarchitecture through Microbenchmarking", ISPASS 2010; Mei & Chu, TPDS 28,
/// 2017). A stride that is a power of two times the line uses a part of the sets only and may overflow at C again: it
/// tells by how many of its loads miss (stride_likelihood.hpp). A lower bound if even the longest stride misses like
/// the shorter ones, an upper bound if the shortest stride is already the only one that does. Time grows with the
/// loads, and with the square of the strides.
Estimate find_line_size(std::span<const change_point::StrideSweep> sweeps);

/// How many bytes a miss brings in, as one of the strides. Rows are strides (bytes), values the latencies of a cold
/// walk (cycles).
///
/// On the first walk over untouched memory a load misses if it is the first one to its granule of F bytes: with a
/// stride of s < F bytes the share s / F of all loads, with s >= F all of them (Mei & Chu, TPDS 28, 2017; Größler, TUM
/// 2022, section 3.2). Judges the fastest level that behaves so: for a walk that starts beyond a cache, name the cache
/// by where the walk ran. An upper bound where half as many bytes, and the next ones ahead, leave the same misses: only
/// strides between half of it and all of it tell. Time grows with the loads.
Estimate find_fetch_granularity(const change_point::Trace& trace);

/// The median over all values of all rows (controls don't matter), cycles: slow loads of another level, below half,
/// don't move it. The interval is the distribution-free one from order statistics (Conover, Practical Nonparametric
/// Statistics, 1999, section 3.2), the confidence the probability mass of the level that holds the median, by a
/// mixture; where it is below one half the loads come from several levels. `inconclusive` of fewer than
/// 6 loads, of which no two enclose the median with 95 %, and where all are 0. Time n log n in the loads.
///
/// By a clock whose tick (change_point/clock_tick.hpp) is longer than what the level's loads differ by, it is their
/// mean, a tick either side. Where those loads differ along the file by more than chance, the interval is what the
/// medians of its stretches cover (change_point/file_order.hpp), and `note` says so.
Estimate find_latency(const change_point::Trace& trace);

}  // namespace gputopo::evidence
