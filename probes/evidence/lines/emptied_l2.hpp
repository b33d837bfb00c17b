// What constants take while the L2 has them and once it lost them.
#pragma once

#include <cstdint>
#include <optional>

#include "evidence/lines/pushed_constants.hpp"

namespace gputopo::evidence {

/// Loads of the same constants, as timed, that the caches in front of the L2 had lost.
struct AroundEmptying {
  Histogram kept;  ///< after few other lines again and again, which leave the L2 as it is
  Histogram lost;  ///< after as many loads of as many lines as push out all that it had
};

/// Constants a line or more apart that `e` pushed out by a load every `every_line` bytes; what `front`, the nearest
/// cache, answers is left out, and what one load brings back into the L2 others find there. `brought_by`: the SM that
/// loads them before that, if any. Nothing where the size of the L2 isn't known, or a neighbour leaves no time. Errors:
/// the session's.
Expected<std::optional<AroundEmptying>> time_around_emptying(Session& session, const CacheFacts& front,
                                                             std::uint64_t every_line, const CacheFacts* l2,
                                                             const Eviction& e,
                                                             std::optional<std::uint32_t> brought_by = {});

}  // namespace gputopo::evidence
