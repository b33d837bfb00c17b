// Sets of SMs against one another.
#pragma once

#include <cstdint>

#include "evidence/looks/structure.hpp"

namespace gputopo::evidence {

/// What follows of `sets`, of each of which all SMs belong together: sets that share an SM are one, an SM of none is
/// alone. Each SM below `sm_count` is in one; SMs and sets ascend.
SmSets joined(const SmSets& sets, std::uint32_t sm_count);

/// Whether no set of `finer` has SMs of two sets of `coarser`, of which each SM is in one.
bool lie_within(const SmSets& finer, const SmSets& coarser);

}  // namespace gputopo::evidence
