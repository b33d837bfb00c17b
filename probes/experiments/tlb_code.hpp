// Whether code loses its translation with that of data.
#pragma once

#include "evidence/translation/tlb_levels.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// Says of the TLB of a level (1: the nearest): `same` where a jump to code that all caches of code lost takes longer
/// after loads pushed data's translations out of it, `apart` where code keeps its own; undecided where an L2 of
/// `l2_bytes` (0: none) holds less than twice as much code as that takes. Errors are the session's.
Expected<void> measure_tlb_code(evidence::Pages& pages, const evidence::TlbLevels& levels, std::size_t level,
                                std::uint64_t l2_bytes, Memory& memory);

}  // namespace gputopo::experiments
