// Shared memory: latency by experiment, size as the driver states it.
#pragma once

#include "experiments/session.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

Expected<Memory> measure_shared(Session& session);

}  // namespace gputopo::experiments
