// Device memory: latency of loads that no cache holds; size as the driver states it.
#pragma once

#include "experiments/session.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// `l2_bytes` is what has to be walked past to empty the L2 of earlier data; 0 where there is none.
Expected<Memory> measure_device_memory(Session& session, std::uint64_t l2_bytes);

/// A walk by all lanes over `footprint_bytes` of the flush slot, past L1, from its start.
program::Walk flush_walk(const Session& session, std::uint64_t footprint_bytes);

}  // namespace gputopo::experiments
