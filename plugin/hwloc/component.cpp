// The hwloc discovery component "gputopo": thin, and harmless to the program that loads it. It runs in every MPI rank
// and in root's daemons, so it opens no driver, prints nothing unless asked, and lets nothing out but success.
#include <cstdio>
#include <exception>

#include "hwloc/host.hpp"
#include "hwloc/machine_root.hpp"
#include "hwloc/runtime.hpp"
#include "hwloc_export/compat.hpp"
#include "text/printable.hpp"

namespace gputopo::hwloc_component {
namespace {

constexpr unsigned priority = 5;  // after pci (20) and the GPU backends (10), whose objects it annotates

void print(const std::string& line) {
  std::fprintf(stderr, "hwloc/gputopo: %s\n", text::message(line).c_str());
}

void annotate(hwloc_topology_t topology) {
  hwloc_type_filter_e filter = HWLOC_TYPE_FILTER_KEEP_NONE;
  hwloc_topology_get_type_filter(topology, HWLOC_OBJ_OS_DEVICE, &filter);
  if (filter == HWLOC_TYPE_FILTER_KEEP_NONE) return;
  const store::Environment environment = store::process_environment();
  // A topology read from another root belongs to another machine. One from XML gets here only where its user asked for
  // it, by HWLOC_ANNOTATE_GLOBAL_COMPONENTS.
  const bool is_wanted = hwloc_topology_is_thissystem(topology) != 0 || environment.annotate_any_topology;
  const store::Machine machine = is_wanted ? store::read_machine(machine_root()) : store::Machine{};
  if (machine.gpus.empty() && !environment.simulate) return;
  Log log = [](const std::string&) {};
  if (environment.verbose) log = print;
  annotate_machine(topology, machine, environment, log);
}

int discover(hwloc_backend* backend, hwloc_disc_status*) {
  ExceptionReserve reserve;
  try {
    annotate(backend->topology);
  } catch (const std::exception&) {
    // Out of memory, say: the topology is complete without us.
  }
  return 0;
}

hwloc_backend* instantiate(hwloc_topology* topology, hwloc_disc_component* component, unsigned, const void*,
                           const void*, const void*) {
  hwloc_backend* backend = hwloc_export::new_backend(topology, component);
  if (backend != nullptr) backend->discover = discover;
  return backend;
}

hwloc_disc_component disc_component = {"gputopo", HWLOC_DISC_PHASE_ANNOTATE, 0, instantiate, priority, 1, nullptr};

int init(unsigned long flags) {
  return flags == 0 ? 0 : -1;
}

}  // namespace
}  // namespace gputopo::hwloc_component

extern "C" {
// hwloc finds the component by this name, made of the file's (hwloc_gputopo.so).
[[gnu::visibility("default")]] extern const hwloc_component hwloc_gputopo_component;
const hwloc_component hwloc_gputopo_component = {HWLOC_COMPONENT_ABI,
                                                 gputopo::hwloc_component::init,
                                                 nullptr,
                                                 HWLOC_COMPONENT_TYPE_DISC,
                                                 0,
                                                 &gputopo::hwloc_component::disc_component};
}
