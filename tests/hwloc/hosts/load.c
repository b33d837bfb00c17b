/* A program that uses hwloc: loads and destroys the topology a number of times and prints what it saw, and by how many
 * bytes the heap grew after the first tenth. load [CYCLES] */
#include <hwloc.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static int load(unsigned* devices, unsigned* miscs) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return -1;
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0) return -1;
  *devices = hwloc_get_nbobjs_by_depth(topology, HWLOC_TYPE_DEPTH_OS_DEVICE);
  *miscs = hwloc_get_nbobjs_by_depth(topology, HWLOC_TYPE_DEPTH_MISC);
  hwloc_topology_destroy(topology);
  return 0;
}

int main(int argc, char** argv) {
  int i, cycles = argc > 1 ? atoi(argv[1]) : 1;
  unsigned devices = 0, miscs = 0;
  size_t early = 0;
  for (i = 0; i < cycles; ++i) {
    if (load(&devices, &miscs) != 0) return 1;
    if (i == cycles / 10) early = mallinfo2().uordblks;
  }
  printf("devices=%u misc=%u grown=%ld\n", devices, miscs, (long)(mallinfo2().uordblks - early));
  return 0;
}
