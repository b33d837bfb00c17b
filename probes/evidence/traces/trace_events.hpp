// Slow loads that one event made slow together: as many loads, but one piece of evidence.
#pragma once

#include <span>
#include <vector>

#include "change_point/isotonic.hpp"
#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// By row, how many of its loads make one piece of evidence, where loads slower than `threshold_cycles` come in bursts
/// that neither neighbouring row has at the same place of its lap: by how much neighbouring loads' misses differ more
/// than chance makes them, at least 1. What a footprint misses recurs with each lap of about its size; what interrupts
/// doesn't. Rows sorted by latency tell nothing. Time grows with the loads.
std::vector<double> loads_an_event(const change_point::Trace& trace, std::span<const change_point::Observation> rows,
                                   double threshold_cycles);

}  // namespace gputopo::evidence
