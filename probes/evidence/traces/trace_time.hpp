// Traces whose loads follow the time at which they were recorded, not the footprint.
#pragma once

#include <cstdint>
#include <span>

#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// Whether loads slower than `threshold_cycles` set in while a row is recorded and go on from there in the next, as a
/// clock or a temperature makes them: in which order a row's loads come says more than by chance (one in a thousand, by
/// permutation), and most of what it says goes on from row to row. What a cache of some size misses is spread over the
/// lap, or comes at the same places of each. Rows are in the order of time, values in that of loads; those sorted by
/// latency tell nothing, if more than one has different loads. Time grows with the loads.
bool do_misses_follow_time(const change_point::Trace& trace, double threshold_cycles, std::uint64_t seed);

/// Whether loads of these rows, on which nothing changes, come slower for a while and faster for another, by a good
/// part of `change_cycles`: an eighth between the quartiles of what neighbouring loads take, and in most of the rows
/// more than in any order (one in a thousand by chance). A clock or a temperature does that, and may be the change as
/// well. Values are in the order of time; rows that are sorted tell nothing.
bool do_loads_drift(std::span<const change_point::Row> rows, double change_cycles, std::uint64_t seed);

}  // namespace gputopo::evidence
