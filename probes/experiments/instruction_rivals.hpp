// What else code may lie in, or share a cache with: the L2, and constants.
#pragma once

#include <optional>

#include "evidence/inference/sameness.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"
#include "experiments/instruction_names.hpp"

namespace gputopo::experiments {

/// Whether it is the cache of constants of which what it loses was seen to come from the L2.
bool is_constants_before_l2(evidence::Findings& findings, const InstructionCache& cache);

/// What an L2 loses of code, and what lies on its other side, looks like a cache of code: then it loses that to what an
/// SM loads past its own caches. `asked_bytes` is what the cache in front asks of this one at once, a block where there
/// is none. Nothing where there is no L2; undecided where this one can't be filled, or nobody knows how much the L2
/// holds. Errors are the session's.
Expected<std::optional<evidence::Sameness>> loses_to_l2(evidence::Session& session, evidence::Findings& findings,
                                                        const InstructionCache& cache, std::uint64_t asked_bytes);

/// Whether what the last cache lost comes from the L2: then it takes longer once loads past all SMs' caches pushed out
/// all that that had. False where as many loads of a few lines leave it as fast, nothing where a
/// neighbour leaves no time for either. Errors are the session's.
Expected<std::optional<bool>> is_l2_behind(evidence::Session& session, evidence::Findings& findings,
                                           const InstructionCache& last);

/// Whether constants push code out of the cache as other code does, stated in its structure. Errors are the session's.
Expected<void> measure_constants_beside_code(evidence::Session& session, InstructionCache& cache);

}  // namespace gputopo::experiments
