// Random TLBs, one to three levels.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace gputopo::test {

/// The text of a model that follows from `seed` alone: TLBs as docs/domain.md has them for `--deep`, with jitter,
/// strangers and distances.
nlohmann::json random_translation(std::uint64_t seed);

}  // namespace gputopo::test
