// The info attributes of one memory's node.
#pragma once

#include <vector>

#include "hwloc_export/tree.hpp"

namespace gputopo::hwloc_export {

/// Everything known of the memories of one physical cache; the first is the one whose attributes have plain names, the
/// others' carry their id ("texture.LatencyCycles").
std::vector<Info> memory_infos(const Topology& topology, const std::vector<const Memory*>& members);

/// PCIBusID, UUID and GPUDevice, and Simulated where it is.
std::vector<Info> identity_infos(const Topology& topology, const Identity& identity);

}  // namespace gputopo::hwloc_export
