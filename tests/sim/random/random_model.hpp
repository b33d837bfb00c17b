// Random GPUs: models as nobody built them, but as somebody could.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace gputopo::test {

/// The text of a valid model (docs/models.md) that follows from `seed` alone, on every machine: any of the domain that
/// docs/domain.md states.
nlohmann::json random_model(std::uint64_t seed);

/// The same, made hostile: one to four properties that lie outside the domain.
nlohmann::json hostile_model(std::uint64_t seed);

}  // namespace gputopo::test
