/* A host that keeps libhwloc's symbols to itself, as Python's ctypes and many plugin systems do. */
#include <dlfcn.h>
#include <hwloc.h>
#include <stdio.h>

int main(void) {
  void* library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  hwloc_topology_t topology;
  int (*init)(hwloc_topology_t*), (*load)(hwloc_topology_t), (*count)(hwloc_topology_t, int);
  int (*filter)(hwloc_topology_t, hwloc_obj_type_t, enum hwloc_type_filter_e);
  void (*destroy)(hwloc_topology_t);
  if (library == NULL) return 1;
  *(void**)&init = dlsym(library, "hwloc_topology_init");
  *(void**)&load = dlsym(library, "hwloc_topology_load");
  *(void**)&count = dlsym(library, "hwloc_get_nbobjs_by_depth");
  *(void**)&filter = dlsym(library, "hwloc_topology_set_type_filter");
  *(void**)&destroy = dlsym(library, "hwloc_topology_destroy");
  if (init(&topology) != 0 || filter(topology, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
      filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 || load(topology) != 0)
    return 1;
  printf("misc=%d\n", count(topology, HWLOC_TYPE_DEPTH_MISC));
  destroy(topology);
  dlclose(library);
  return 0;
}
