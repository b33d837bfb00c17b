// Puts a GPU's memories into an hwloc topology: nested Misc objects under the GPU's CUDA OS device, and flat info
// attributes on that device for programs that keep I/O objects only.
//
// Misc is the one type that passes hwloc's checks below an I/O object, survives XML and isn't counted as a processor
// or a coprocessor (hwloc manual, "Object types" and "I/O Devices").
#pragma once

#include <hwloc.h>
#include <string>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::hwloc_export {

/// Where a GPU belongs.
struct Target {
  /// The GPU's PCI address ("0000:3b:00.0"); empty for a simulated GPU.
  std::string pci_bus_id;
  /// The number N of "cudaN" for a device that has to be created; the next free one where it is taken.
  unsigned cuda_index = 0;
  /// What a created device is attached to where its PCI device isn't among the topology's objects; nullptr: a device
  /// without a PCI object isn't created.
  hwloc_obj_t parent_without_pci = nullptr;
};

struct Annotation {
  hwloc_obj_t device = nullptr;  ///< the CUDA OS device, nullptr where none was found or created
  bool created_device = false;
  unsigned objects_added = 0;  ///< Misc objects
  unsigned infos_added = 0;    ///< flat attributes on the device
};

/// Adds what the topology's type filters allow: nothing without OS devices, flat attributes alone without Misc. Does
/// nothing twice: a device is created only where the GPU has none and no other component lists CUDA devices, and what
/// an earlier call (or a loaded XML) brought is left as it is.
///
/// May be called from a discovery component or on a loaded topology of one's own (not one adopted from shared memory);
/// on a loaded one hwloc_topology_reconnect() has to follow. Errors: `bad_input` where check() refuses the topology.
Expected<Annotation> annotate(hwloc_topology_t topology, const Topology& gpu, const Target& target);

}  // namespace gputopo::hwloc_export
