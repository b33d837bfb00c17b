// The few places where hwloc 2 (component ABI 7) and 3 (ABI 8) differ.
#pragma once

#include "hwloc_export/hwloc_plugins.hpp"

namespace gputopo::hwloc_export {

#if HWLOC_API_VERSION >= 0x00030000

inline constexpr bool info_sizes_have_units = true;

inline void make_coprocessor(hwloc_obj_t device) {
  device->attr->osdev.types = HWLOC_OBJ_OSDEV_COPROC | HWLOC_OBJ_OSDEV_GPU;
}

inline hwloc_backend* new_backend(hwloc_topology* topology, hwloc_disc_component* component) {
  return hwloc_backend_alloc(topology, component, 0);
}

#else

inline constexpr bool info_sizes_have_units = false;

inline void make_coprocessor(hwloc_obj_t device) {
  device->attr->osdev.type = HWLOC_OBJ_OSDEV_COPROC;
}

inline hwloc_backend* new_backend(hwloc_topology* topology, hwloc_disc_component* component) {
  return hwloc_backend_alloc(topology, component);
}

#endif

}  // namespace gputopo::hwloc_export
