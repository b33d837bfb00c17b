// Capacity by counting what is there, instead of by what a footprint misses.
#pragma once

#include <optional>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// What was counted at several footprints, all larger than the cache.
struct Residency {
  std::vector<std::uint64_t> bytes;
  std::uint64_t samples = 0;
  std::uint64_t held_bytes = 0;  ///< what all of them together say
  /// Whether the counts don't follow the footprint, and are of this path's lines at all.
  bool is_steady() const;
};

/// After more than fits was walked, loads that don't allocate look at every sector: what is there is the whole usable
/// cache, whatever its replacement. Strangers hide a sector now and then, and a load of the next level may look like a
/// hit: as many counts or looks are taken as the levels' shares of both ask for. `about_bytes` is a first idea of the
/// capacity; `shared_bytes` of shared memory are asked for beside it. Only for paths into the cache of global loads.
Expected<Residency> count_resident(Session& session, const CacheFacts& cache, std::uint64_t about_bytes,
                                   std::uint64_t shared_bytes = 0);

}  // namespace gputopo::evidence
