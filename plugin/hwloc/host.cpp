#include "hwloc/host.hpp"

#include <memory>

#include <fmt/format.h>

#include "hwloc_export/export.hpp"
#include "store/simulated.hpp"
#include "store/store.hpp"

namespace gputopo::hwloc_component {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

// The widest part of the machine with just the CPUs near a GPU, for programs that filter PCI objects out; the machine
// where that isn't known. hwloc's own search for it ends the process where there is no memory (up to 2.12).
hwloc_obj_t locality_of(hwloc_topology_t topology, const store::InstalledGpu& gpu) {
  const hwloc_obj_t machine = hwloc_get_root_obj(topology);
  const Bitmap cpus(hwloc_bitmap_alloc());
  if (!cpus || gpu.local_cpus.empty() || hwloc_bitmap_list_sscanf(cpus.get(), gpu.local_cpus.c_str()) != 0 ||
      hwloc_bitmap_and(cpus.get(), cpus.get(), machine->cpuset) != 0)
    return machine;
  hwloc_obj_t near = hwloc_get_obj_covering_cpuset(topology, cpus.get());
  if (near == nullptr) return machine;
  while (near->parent != nullptr && hwloc_bitmap_isequal(near->parent->cpuset, near->cpuset) != 0) near = near->parent;
  return near;
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
    log(fmt::format("GPU {}: its driver doesn't tell the UUID yet; run nvidia-smi once", gpu.pci_bus_id));
    return;
  }
  const store::Lookup found = store::load(gpu.uuid, machine.driver_version, environment);
  for (const std::string& refusal : found.refusals) log(refusal);
  if (!found.topology) {
    if (found.refusals.empty())
      log(fmt::format("GPU {}: nothing stored for {}; run gputopo discover --all-gpus --save", gpu.pci_bus_id,
                      gpu.uuid));
    return;
  }
  hwloc_export::Target target{gpu.pci_bus_id, index, nullptr};
  // In another machine's topology only that machine's own PCI device will do.
  if (hwloc_topology_is_thissystem(topology) != 0) target.parent_without_pci = locality_of(topology, gpu);
  place(topology, *found.topology, target, log);
}

void place_simulated(hwloc_topology_t topology, unsigned number, const std::string& name, const Log& log) {
  const auto gpu = store::simulated_topology(name);
  if (!gpu) {
    log("GPUTOPO_SIMULATE: " + gpu.error().message);
    return;
  }
  place(topology, *gpu, hwloc_export::Target{"", number, hwloc_get_root_obj(topology)}, log);
}

}  // namespace

void annotate_machine(hwloc_topology_t topology, const store::Machine& machine, const store::Environment& environment,
                      const Log& log) {
  for (unsigned index = 0; index < machine.gpus.size(); ++index)
    place_stored(topology, machine, index, environment, log);
  unsigned number = 0;
  for (const std::string& name : store::simulated_names(environment)) place_simulated(topology, number++, name, log);
}

}  // namespace gputopo::hwloc_component
