// Slow loads that one event made slow together: as many loads, but one piece of evidence.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "change_point/isotonic.hpp"
#include "change_point/trace.hpp"
#include "evidence/inference/capacity.hpp"

namespace gputopo::evidence {

struct LoadsInARow {
  std::size_t begin = 0, length = 0;
};

struct Event {
  double loads = 1;                   ///< that make one piece of evidence
  std::vector<LoadsInARow> left_out;  ///< that an interruption surely made slow: no evidence at all
  double left_out_loads() const;
};

/// By row, how many of its loads make one piece of evidence, where loads slower than `threshold_cycles` come in bursts
/// that neither neighbouring row has at the same place of its lap: by how much neighbouring loads' misses differ more
/// than chance makes them, at least 1. Where most of them come one right after the other, and no neighbouring row has
/// such, as slow and at that place (or, of parts of laps, at any), these are left out. What a footprint misses recurs
/// with each lap of about its size; what interrupts doesn't. Where no more than a `saturation` of the loads can miss
/// (one half or less; `sweep`), no two that are neighbours do: more than three are left out. Rows sorted by latency
/// tell nothing. Time grows with the loads.
std::vector<Event> events(const change_point::Trace& trace, std::span<const change_point::Observation> rows,
                          double threshold_cycles, const Sweep& sweep = {});

}  // namespace gputopo::evidence
