// Traces whose loads follow the time at which they were recorded, not the footprint.
#pragma once

#include <cstdint>

#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// Whether loads slower than `threshold_cycles` set in while a row is recorded and go on from there in the next, as a
/// clock or a temperature makes them: in which order a row's loads come says more than by chance (one in a thousand, by
/// permutation), and most of what it says goes on from row to row. What a cache of some size misses is spread over the
/// lap, or comes at the same places of each. Rows are in the order of time, values in that of loads; those sorted by
/// latency tell nothing, if more than one has different loads. Time grows with the loads.
bool do_misses_follow_time(const change_point::Trace& trace, double threshold_cycles, std::uint64_t seed);

}  // namespace gputopo::evidence
