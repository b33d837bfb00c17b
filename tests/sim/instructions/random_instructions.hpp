// Random instruction caches, one to three levels.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace gputopo::test {

/// The text of a model that follows from `seed` alone: instruction caches as docs/domain.md has them for `--deep`, one
/// of which constants may share, with jitter, strangers and distances.
nlohmann::json random_instructions(std::uint64_t seed);

}  // namespace gputopo::test
