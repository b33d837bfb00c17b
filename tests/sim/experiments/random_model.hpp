// Random GPUs: models as nobody built them, but as somebody could.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace gputopo::test {

/// The text of a valid model (docs/models.md) that follows from `seed` alone, on every machine. Caches of any
/// geometry, index and replacement; separate or unified L1, texture and read-only caches; L1s that don't cache global
/// loads; constants with and without a level behind the first; L2s with and without partitions, none at all; jitter up
/// to 3 cycles, outliers up to one load in 2000. Each level takes at least 1.4 times as long as the one before it. L2s
/// are small (at most 2 MiB), so that a discovery takes a fraction of a second.
nlohmann::json random_model(std::uint64_t seed);

}  // namespace gputopo::test
