// What else code may lie in, or share a cache with: the L2, and constants.
#pragma once

#include <optional>

#include "evidence/inference/sameness.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"
#include "experiments/instruction_names.hpp"

namespace gputopo::experiments {

/// Of two sides of the L2 the farther one looks like what is behind the nearer, over however much code.
bool may_be_a_side(const evidence::Findings& findings, const evidence::CodeLevel& level);

/// Where all the code that there is may be more than the L2 holds it shows as a cache of code: then it loses that to
/// what an SM loads past its own caches. Nothing where the L2 holds far more than this one and isn't of two sides, or
/// there is none; undecided where this one can't be filled. Errors are the session's.
Expected<std::optional<evidence::Sameness>> loses_to_l2(evidence::Session& session, evidence::Findings& findings,
                                                        const InstructionCache& cache);

/// Whether what the last cache lost comes from the L2: then it takes longer once loads past all SMs' caches pushed out
/// all that that had. False where as many loads of a few lines leave it as fast, nothing where a
/// neighbour leaves no time for either. Errors are the session's.
Expected<std::optional<bool>> is_l2_behind(evidence::Session& session, evidence::Findings& findings,
                                           const InstructionCache& last);

/// Whether constants push code out of the cache as other code does, stated in its structure. Errors are the session's.
Expected<void> measure_constants_beside_code(evidence::Session& session, InstructionCache& cache);

}  // namespace gputopo::experiments
