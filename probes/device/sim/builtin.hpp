// The built-in models' texts, generated from probes/models/*.json when the library is built. Internal to this folder.
#pragma once

#include <span>
#include <string_view>

namespace gputopo::sim {

/// In the order of builtin_models().
std::span<const std::string_view> builtin_model_texts();

}  // namespace gputopo::sim
