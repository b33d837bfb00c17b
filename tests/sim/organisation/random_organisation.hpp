// Random caches, one or two to a model, for how they are organised.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace gputopo::test {

/// The text of a model that follows from `seed` alone: an L1 or a texture cache, or constants of one or two levels, as
/// docs/domain.md has them, with jitter, strangers and the kernel's own lines.
nlohmann::json random_organisation(std::uint64_t seed);

}  // namespace gputopo::test
