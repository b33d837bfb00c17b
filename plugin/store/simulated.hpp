// The simulated GPUs' own specifications, for programs that show them without simulating anything.
#pragma once

#include <span>
#include <string_view>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::store {

/// A built-in model's true topology: every estimate has status `truth`, provenance.simulated is set. Error `bad_input`,
/// naming those there are, for an unknown name.
Expected<Topology> simulated_topology(std::string_view name);

/// One line of the table that embed_simulated writes when the library is built.
struct SimulatedText {
  std::string_view name;
  std::string_view json;
};

/// Sorted by name.
std::span<const SimulatedText> simulated_texts();

}  // namespace gputopo::store
