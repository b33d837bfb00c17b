// How many bytes a miss brings in, from cold walks at several strides.
//
// On the first walk over untouched memory a load misses if it is the first one to its granule of F bytes. With a stride
// of s < F bytes that is the share s / F of all loads, with s >= F all of them (Mei & Chu, TPDS 28, 2017; Größler, TUM
// 2022, section 3.2).
#pragma once

#include "change_point/finding.hpp"

namespace gputopo::change_point {

/// The fetch granularity in bytes as one of the strides: rows are strides (bytes), values the latencies of a cold walk
/// (cycles). By profile likelihood over the strides, each row's deviance limited so that a few strides that behave
/// oddly (loads in flight, a prefetcher) don't decide. `low` and `high`: the likelihood-ratio set. A lower bound if the
/// misses haven't saturated at the longest stride, an upper bound if they are at the shortest, inconclusive if no level
/// of latency behaves like that. Judges the fastest level that does: for a walk that starts beyond a cache, name the
/// cache by where the walk ran. Time grows with the loads.
Finding find_fetch_granularity(const Trace& trace, const Options& options);

}  // namespace gputopo::change_point
