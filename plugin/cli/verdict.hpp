// The exit status that a topology deserves.
#pragma once

#include "cli/context.hpp"
#include "topology/topology.hpp"

namespace gputopo::cli {

/// Exit::inconclusive where any estimate is, else Exit::done.
Exit verdict(const Topology& topology);

}  // namespace gputopo::cli
