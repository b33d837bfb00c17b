// What loads of one kind push out of a full cache that loads of another kind filled. Loads that don't allocate count
// what is left, so neither has to hit what the other brought in: texture lines never hit for global loads.
#pragma once

#include <optional>

#include "experiments/sharing.hpp"

namespace gputopo::experiments {

/// Exact capacity behind a path whose lines can't be probed: global lines left in a full cache after n lines of the
/// path were walked. Where left + n is the same for several n, it is the capacity. Nothing otherwise.
Expected<std::optional<Estimate>> measure_displacement(Session& session, const Sharer& global, const Sharer& other,
                                                       std::uint64_t line_bytes);

/// One cache or two, by residency: half a cache's worth of lines through `other` leaves that much less of a full
/// `global` cache, or nothing less. `global` must take loads that don't allocate.
Expected<SharingTest> test_residency(Session& session, const Sharer& global, const Sharer& other,
                                     std::uint64_t line_bytes);

}  // namespace gputopo::experiments
