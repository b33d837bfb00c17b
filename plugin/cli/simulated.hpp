// The specification of a modelled GPU as a topology that says so.
#pragma once

#include <string>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::cli {

/// What the model `name` (a built-in model or a file) truly is, with status `truth` throughout. Errors: as
/// sim::builtin_model and sim::load_model.
Expected<Topology> simulated_truth(const std::string& name);
/// The same with notes of what no memory's attribute says: TLBs, distances, disturbances.
Expected<Topology> whole_simulated_truth(const std::string& name);

}  // namespace gputopo::cli
