// This machine's hwloc topology with GPUs in it, as XML: for machines and batch systems without the plugin.
#pragma once

#include <string>
#include <vector>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::hwloc_export {

struct Xml {
  std::string text;
  /// One line for each GPU whose PCI device the machine doesn't have; it was put under the machine itself.
  std::vector<std::string> notes;
};

/// Loads the machine's topology with every kind of object (or what HWLOC_XMLFILE and its like name instead), puts each
/// GPU in, and writes XML that any hwloc of the same major version reads. Errors: `io` where hwloc fails, `bad_input`
/// where check() refuses a topology, `unavailable` where a GPU couldn't be placed.
Expected<Xml> machine_xml(const std::vector<Topology>& gpus);

}  // namespace gputopo::hwloc_export
