// Whether texture loads ask a TLB that global loads ask.
#pragma once

#include <cstdint>

#include "evidence/translation/tlb_levels.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// Says whether texture loads push translations out of the TLB of a level (1: the nearest) as global loads do, where a
/// texture reaches enough of its `entries`, `entry_bytes` each. 0: not known. Errors are the session's.
Expected<void> measure_tlb_textures(evidence::Pages& pages, const evidence::TlbLevels& levels, std::size_t level,
                                    std::uint64_t entries, std::uint64_t entry_bytes, Memory& memory);

}  // namespace gputopo::experiments
