// Exact capacity by counting: walk far more than fits, then look at every sector with loads that don't allocate. What
// is resident after an overflow is the whole usable cache, whatever its replacement policy.
#pragma once

#include <optional>

#include "experiments/session.hpp"
#include "topology/estimate.hpp"

namespace gputopo::experiments {

/// `path` warms (global cached or read-only loads); `capacity_bytes` is a first idea of the size. Nothing where the
/// probes see no line (another physical cache) or their count follows the footprint. `shared_bytes` of shared memory
/// are asked for beside it.
Expected<std::optional<Estimate>> measure_residency(Session& session, const CachePath& path,
                                                    std::uint64_t capacity_bytes, std::uint64_t sector_bytes,
                                                    double threshold_cycles, std::uint64_t shared_bytes = 0);

/// The same for loads that do allocate: walk more than fits, then walk back. Caches that throw out the oldest line, or
/// the one that came first, hit on the way back exactly what they held, wherever their sets began to overflow. With any
/// other replacement the way back itself throws lines out: counts then differ or fall short of the footprint that fits,
/// and there is nothing to say. Counts that differ by no more than slow hits explain are made again line by line, over
/// several ways back. Every count is a lower bound of the capacity.
Expected<std::optional<Estimate>> measure_reverse_residency(Session& session, const CachePath& path,
                                                            std::uint64_t capacity_bytes, std::uint64_t line_bytes,
                                                            double threshold_cycles);

/// Bytes that stay resident at a quarter and half more than the capacity, each sector looked at three times: right even
/// where slow loads hide a few sectors from every single count. The greater of both.
Expected<double> count_residency_carefully(Session& session, const CachePath& path, std::uint64_t capacity_bytes,
                                           std::uint64_t sector_bytes, double threshold_cycles,
                                           std::uint64_t shared_bytes);

}  // namespace gputopo::experiments
