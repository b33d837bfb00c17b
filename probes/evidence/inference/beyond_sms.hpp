// What lies beyond the SMs has clocks of its own and is shared: what a run states of it at the end.
#pragma once

#include <cstdint>

#include "topology/topology.hpp"

namespace gputopo::evidence {

/// The SM clock that programs ran at, kHz; 0 where it wasn't watched.
struct SmClock {
  std::uint64_t usual_khz = 0;    ///< of half of the programs as slow or slower
  std::uint64_t slowest_khz = 0;  ///< of a tenth
};

/// Whoever runs at the same time takes a part of what he shares: sizes become lower bounds, latencies upper ones, and
/// those beyond the SMs open.
void bound_what_others_take(Topology& topology);

/// Beside copies to and from the GPU, which share paths beyond the SMs and keep memory busy: bandwidths there become
/// lower bounds, and what loads of memory take open.
void bound_what_copies_take(Topology& topology);

/// Beside a program whose load changes one of the clocks: the others change as well, by as much as nothing tells, so
/// that cycles of what lies beyond the SMs are open.
void open_what_clocks_change(Topology& topology);

/// States the clock that cycles are of where it isn't the driver's. Of an SM slower than that what lies beyond it takes
/// fewer cycles, and at the driver's clock as many more unless its own clocks fell as well: intervals and upper bounds
/// reach from the one to the other.
void state_clock(Topology& topology, const SmClock& clock);

}  // namespace gputopo::evidence
