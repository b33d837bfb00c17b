#include "hwloc/host.hpp"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "hwloc_export/compat.hpp"
#include "hwloc_export/export.hpp"
#include "store/simulated.hpp"
#include "store/store.hpp"

namespace gputopo::hwloc_component {
namespace {

// hwloc's own locality of a PCI address, for programs that filter PCI objects out.
hwloc_obj_t locality_of(hwloc_topology_t topology, const std::string& bus_id) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (std::sscanf(bus_id.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return nullptr;
  hwloc_obj_t parent = hwloc_export::pci_locality(topology, domain, bus, device, function);
  return parent != nullptr ? parent : hwloc_get_root_obj(topology);
}

void place(hwloc_topology_t topology, const Topology& gpu, const hwloc_export::Target& target, const Log& log) {
  const auto annotation = hwloc_export::annotate(topology, gpu, target);
  if (!annotation)
    log(fmt::format("GPU {} is left out: {}", target.pci_bus_id, annotation.error().message));
  else if (annotation->device == nullptr)
    log(fmt::format("GPU {} is left out: the topology has neither its PCI device nor its CUDA device",
                    target.pci_bus_id));
  else
    log(fmt::format("GPU {}: {} objects added", target.pci_bus_id.empty() ? gpu.gpu.name : target.pci_bus_id,
                    annotation->objects_added));
}

void place_stored(hwloc_topology_t topology, const store::Machine& machine, unsigned index,
                  const store::Environment& environment, const Log& log) {
  const store::InstalledGpu& gpu = machine.gpus[index];
  if (gpu.uuid.empty()) {
    log(fmt::format("GPU {}: its driver doesn't tell the UUID yet: run nvidia-smi once", gpu.pci_bus_id));
    return;
  }
  const store::Lookup found = store::load(gpu.uuid, machine.driver_version, environment);
  for (const std::string& refusal : found.refusals) log(refusal);
  if (!found.topology) {
    log(fmt::format("GPU {}: nothing stored for {}: run gputopo discover --save", gpu.pci_bus_id, gpu.uuid));
    return;
  }
  hwloc_export::Target target{gpu.pci_bus_id, index, nullptr};
  // In another machine's topology only that machine's own PCI device will do.
  if (hwloc_topology_is_thissystem(topology) != 0) target.parent_without_pci = locality_of(topology, gpu.pci_bus_id);
  place(topology, *found.topology, target, log);
}

void place_simulated(hwloc_topology_t topology, const std::string& name, const Log& log) {
  const auto gpu = store::simulated_topology(name);
  if (!gpu) {
    log("GPUTOPO_SIMULATE: " + gpu.error().message);
    return;
  }
  place(topology, *gpu, hwloc_export::Target{"", 0, hwloc_get_root_obj(topology)}, log);
}

}  // namespace

void annotate_machine(hwloc_topology_t topology, const store::Machine& machine, const store::Environment& environment,
                      const Log& log) {
  for (unsigned index = 0; index < machine.gpus.size(); ++index)
    place_stored(topology, machine, index, environment, log);
  if (environment.simulate) place_simulated(topology, *environment.simulate, log);
}

}  // namespace gputopo::hwloc_component
