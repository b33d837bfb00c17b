// Whether code loses its translation with that of data.
#pragma once

#include "evidence/translation/tlb_levels.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// Says of the TLB of a level (1: the nearest): `same` where a jump to code that all caches of code lost takes longer
/// after loads pushed data's translations out of it, `apart` where code keeps its own. Errors are the session's.
Expected<void> measure_tlb_code(evidence::Pages& pages, const evidence::TlbLevels& levels, std::size_t level,
                                Memory& memory);

}  // namespace gputopo::experiments
