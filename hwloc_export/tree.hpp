// A Topology as the tree of boxes that hwloc shows: plain data, no hwloc.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/topology.hpp"

namespace gputopo::hwloc_export {

/// A name and its value, both printable ASCII.
using Info = std::pair<std::string, std::string>;

/// One object under the GPU.
struct Node {
  std::string subtype;  ///< "GPUMemory", "GPUCache", "GPUScratchpad"; "GPUSM", "GPUGPC", ... for a part of the chip
  std::string name;     ///< what lstopo shows, with the size
  std::vector<Info> infos;
  std::vector<Node> children;
};

/// Where the GPU sits in the host's topology; repeated in every node, since a reader may have lost the node's parents.
struct Identity {
  std::string device;      ///< "cuda0"
  std::string pci_bus_id;  ///< "0000:3b:00.0", empty for a simulated GPU
  std::string uuid;
};

/// The memories as nested nodes.
///
/// Nesting follows the scopes: what the whole GPU shares is outermost, and each narrower part of the chip in use is one
/// node with its count in the part around it ("GPC x8", in it "SM x16"; "132 SMs in all" where GPCs differ) holding the
/// memories of that scope. Inside one scope a memory lies in its parent, eight deep at most. The sides of an L2 lie in
/// it, one node each. The next narrower part lies in the memory that serves most of what is inside it (usually L2).
/// Memories of one physical cache are one node. A memory whose size is `not_supported` isn't shown.
std::vector<Node> build_tree(const Topology& topology, const Identity& identity);

/// Flat attributes for the GPU's OS device: "GPUTopoL1dSize" (bytes), "GPUTopoL1dLatencyCycles", ... Only usable
/// values.
std::vector<Info> flat_infos(const Topology& topology);

/// What hwloc's own CUDA backend says of a device: GPUVendor, GPUModel, CUDAGlobalMemorySize, ... Sizes in KiB, with
/// the unit written out where `with_unit` (hwloc 3).
std::vector<Info> device_infos(const Topology& topology, bool with_unit);

}  // namespace gputopo::hwloc_export
