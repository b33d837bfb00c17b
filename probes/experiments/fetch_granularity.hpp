// Sector size: how many bytes one miss brings in. Cold loads of every word miss once a sector.
#pragma once

#include "experiments/session.hpp"
#include "topology/estimate.hpp"

namespace gputopo::experiments {

/// Reads `latencies` of a cold walk (one load every `stride_bytes`, ascending from an aligned address): the smallest
/// power of two such that the loads at its multiples miss and the others hit. `inconclusive` where no granularity
/// explains 95 % of the loads.
Estimate fetch_granularity_of(std::span<const std::uint32_t> latencies, std::uint64_t stride_bytes,
                              double threshold_cycles);

/// Walks a region that isn't in the cache word by word. `flush` phases run before it.
Expected<Estimate> measure_fetch_granularity(Session& session, const CachePath& path, double threshold_cycles);

}  // namespace gputopo::experiments
