// Doctor's looks at the programs that show GPUs, and at what else is on them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor_checks.hpp"
#include "store/environment.hpp"

namespace gputopo::cli {

/// Whether the lstopo in PATH loads the plugin: asks it.
Check lstopo();

/// Which likwid-topology is in PATH, and whether it is a patched one.
Check likwid();

/// A line for each name in $GPUTOPO_SIMULATE: programs that load the plugin say nothing of one that they don't know.
std::vector<Check> simulated_gpus(const store::Environment& environment);

/// Other processes that have a GPU open, by what `root`/proc shows this user; nothing where there are none.
std::vector<Check> users_of_gpus(const std::string& root);

}  // namespace gputopo::cli
