// What the component does in a program that loads a topology.
#pragma once

#include <functional>
#include <hwloc.h>
#include <string>

#include "store/environment.hpp"
#include "store/machine.hpp"

namespace gputopo::hwloc_component {

/// Takes one line for whoever asked hwloc to be verbose.
using Log = std::function<void(const std::string&)>;

/// Puts every GPU of `machine` that the store knows into the topology, and the simulated GPU that the environment
/// names. What is missing, refused or wrong only leaves a line in `log`. For use during discovery, in the ANNOTATE
/// phase.
void annotate_machine(hwloc_topology_t topology, const store::Machine& machine, const store::Environment& environment,
                      const Log& log);

}  // namespace gputopo::hwloc_component
