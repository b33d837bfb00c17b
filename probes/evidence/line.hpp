// Line size: how many bytes one tag covers, by the shifted pattern.
//
// Two regions of 0.6 of the capacity each, walked at stride X, the second shifted by X/2: together they need 1.2 times
// the capacity as long as X/2 lies within a line, and no more than 0.6 from the first X on whose halves are lines of
// their own. Works for modulo and hashed sets and any replacement. The same walks without the shift overflow, too, as
// long as X lies within a line, and with half the regions they fit: what either misses is measured beside it.
#pragma once

#include "evidence/findings.hpp"
#include "evidence/session.hpp"

namespace gputopo::evidence {

/// For a cache of about `capacity_bytes` (within a tenth). `lanes` threads warm together, 1 for caches that a thread
/// fills quickly; walks are sampled down to `most_loads`.
Expected<Estimate> measure_line(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes,
                                Scope isolation, std::uint64_t most_loads = 4096);

}  // namespace gputopo::evidence
