#include "hwloc_export/xml.hpp"

#include <cerrno>
#include <hwloc.h>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "hwloc_export/export.hpp"
#include "hwloc_export/hwloc_plugins.hpp"

namespace gputopo::hwloc_export {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<hwloc_topology, Destroy>;

tl::unexpected<Error> failed(std::string_view what) {
  return fail(Error::Kind::io, fmt::format("hwloc could not {}: {}: try lstopo to see what is wrong", what,
                                           std::generic_category().message(errno)));
}

Expected<TopologyHandle> load_machine() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return failed("start");
  TopologyHandle topology(raw);
  if (hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 || hwloc_topology_load(raw) != 0)
    return failed("load this machine's topology");
  return topology;
}

}  // namespace

Expected<Xml> machine_xml(const std::vector<Topology>& gpus) {
  auto topology = load_machine();
  if (!topology) return tl::unexpected<Error>(topology.error());
  hwloc_topology_t raw = topology->get();
  Xml xml;
  unsigned index = 0;
  for (const Topology& gpu : gpus) {
    Target target;
    if (!gpu.provenance.simulated) target.pci_bus_id = gpu.gpu.pci_bus_id;
    target.cuda_index = index++;
    target.parent_without_pci = hwloc_get_root_obj(raw);
    const auto annotation = annotate(raw, gpu, target);
    if (!annotation) return tl::unexpected<Error>(annotation.error());
    if (annotation->device == nullptr)
      return fail(
          Error::Kind::unavailable,
          fmt::format(
              "cannot place GPU {}: hwloc lists CUDA devices, and it is not among them: unset CUDA_VISIBLE_DEVICES",
              gpu.gpu.name));
    if (annotation->created_device && annotation->device->parent == target.parent_without_pci &&
        !gpu.provenance.simulated)
      xml.notes.push_back(fmt::format("{} has no PCI device {} here: it is put under the machine itself", gpu.gpu.name,
                                      gpu.gpu.pci_bus_id));
  }
  if (hwloc_topology_reconnect(raw, 0) != 0) return failed("connect the new objects");
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(raw, &buffer, &length, 0) != 0) return failed("write XML");
  xml.text = buffer;
  hwloc_free_xmlbuffer(raw, buffer);
  return xml;
}

}  // namespace gputopo::hwloc_export
