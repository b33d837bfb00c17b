// The topologies that `show` prints when it is given no file.
#pragma once

#include <vector>

#include "topology/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::cli {

/// The simulated GPU of $GPUTOPO_SIMULATE where that is set, else what the store has for this machine's GPUs, in PCI
/// order. `unavailable` where that is nothing.
Expected<std::vector<Topology>> stored_topologies();

}  // namespace gputopo::cli
