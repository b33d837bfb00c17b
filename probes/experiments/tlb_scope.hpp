// Which SMs have one TLB together.
#pragma once

#include "evidence/translation/tlb_levels.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// Says which SMs share the TLB of a level (1: the nearest): by what one of them loses and another brings back. By
/// eviction nothing would show as long as a nearer level still has it. Errors are the session's.
Expected<void> measure_tlb_scope(evidence::Pages& pages, const evidence::TlbLevels& levels, std::size_t level,
                                 Memory& memory);

}  // namespace gputopo::experiments
