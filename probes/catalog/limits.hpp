// What NVIDIA publishes of a compute capability: CUDA C++ Programming Guide, 'Compute Capabilities', table 'Technical
// Specifications per Compute Capability', and each architecture's section for the cores.
#pragma once

#include <cstdint>
#include <string_view>

#include "topology/limits.hpp"

namespace gputopo::catalog {

/// The limits of a compute capability ("9.0"); all 0 for one that isn't listed.
Limits published_limits(std::string_view compute_capability);

/// Bytes of an SM's unified data cache, the array that L1 and shared memory lie in ('Shared Memory' of the guide's
/// section for each compute capability); 0 for one that isn't listed or has no such array. An SM whose largest shared
/// memory, as its driver says, isn't the one published with it is another SM: 0, too.
std::uint64_t published_unified_bytes(std::string_view compute_capability, std::uint64_t shared_bytes_per_sm);

}  // namespace gputopo::catalog
