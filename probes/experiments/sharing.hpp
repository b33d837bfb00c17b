// Which kinds of load share one physical cache? By eviction (Größler 2022, section 4.5): fill through one path, walk
// through the other, look whether the first one's data is still there.
#pragma once

#include <optional>

#include "experiments/session.hpp"
#include "experiments/sm_cache.hpp"

namespace gputopo::experiments {

/// A cache and what is known of it.
struct Sharer {
  CachePath path;
  const SmCache* cache = nullptr;
};

enum class Sharing { same, apart, undecided };

/// Both walk two thirds of their capacity, in memory of their own: together they don't fit into one cache, each alone
/// does. The smaller cache's data is what is looked for; of equal ones, both.
Expected<Sharing> test_sharing(Session& session, const Sharer& a, const Sharer& b);

/// Exact capacity behind a path whose lines can't be probed: global lines left in a full cache after n lines of the
/// path were walked. Where left + n is the same for several n, it is the capacity. Nothing otherwise.
Expected<std::optional<Estimate>> measure_displacement(Session& session, const Sharer& global, const Sharer& other,
                                                       std::uint64_t line_bytes);

}  // namespace gputopo::experiments
