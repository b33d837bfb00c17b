/* Placement from hwloc alone: binds itself to the cores near a GPU and picks the tile of a matrix product that fits the
 * L1 of the GPU's SMs.
 *
 *   cc placement.c -o placement $(pkg-config --cflags --libs hwloc)
 *   ./placement              the first GPU
 *   ./placement cuda1        that one
 *   GPUTOPO_SIMULATE=h200 ./placement    without a GPU
 */
#include <gputopo_hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest multiple of 16 whose three square tiles of floats (two read, one written) fit. */
static unsigned tile_for(uint64_t bytes) {
  unsigned edge = 16;
  while (3 * sizeof(float) * (edge + 16) * (edge + 16) <= bytes) edge += 16;
  return edge;
}

static hwloc_topology_t load(void) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return NULL;
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) == 0) return topology;
  hwloc_topology_destroy(topology);
  return NULL;
}

static void bind_near(hwloc_topology_t topology, hwloc_obj_t device) {
  hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
  char* cpus = NULL;
  hwloc_bitmap_asprintf(&cpus, near->cpuset);
  if (hwloc_set_cpubind(topology, near->cpuset, 0) == 0)
    printf("bound to CPUs %s, near %s\n", cpus, device->name);
  else
    printf("CPUs %s are near %s, but binding failed: %s\n", cpus, device->name, strerror(errno));
  free(cpus);
}

static int choose_tile(hwloc_topology_t topology, hwloc_obj_t device, uint64_t shared_bytes) {
  uint64_t usable = 0, line = 0;
  double cycles = 0;
  hwloc_obj_t l1 = gputopo_hwloc_memory_by_id(topology, device, "l1");
  if (l1 == NULL) {
    fprintf(stderr, "%s caches no global loads in an L1\n", device->name);
    return 1;
  }
  /* The table by carve-out where it was measured, else the size at the smallest carve-out. */
  if (gputopo_hwloc_usable_bytes(l1, shared_bytes, &usable) != 0 && gputopo_hwloc_size(l1, "l1", &usable) != 0) {
    fprintf(stderr, "the size of %s's L1 isn't known: %s\n", device->name, strerror(errno));
    return 1;
  }
  printf("%llu bytes of L1 beside %llu bytes of shared memory: tiles of %u x %u floats\n", (unsigned long long)usable,
         (unsigned long long)shared_bytes, tile_for(usable), tile_for(usable));
  if (gputopo_hwloc_line_size(l1, "l1", &line) == 0) printf("rows padded to %llu bytes\n", (unsigned long long)line);
  if (gputopo_hwloc_latency_cycles(l1, "l1", &cycles) == 0) printf("%.0f cycles to hide for a hit\n", cycles);
  return 0;
}

int main(int argc, char** argv) {
  int status = 1;
  hwloc_obj_t device;
  hwloc_topology_t topology = load();
  if (topology == NULL) {
    fprintf(stderr, "hwloc could not load the topology\n");
    return 1;
  }
  device = argc > 1 ? gputopo_hwloc_device_by_name(topology, argv[1]) : gputopo_hwloc_next_device(topology, NULL);
  if (device == NULL) {
    fprintf(stderr, "hwloc knows no memories of %s: run gputopo discover --save, and see docs/hwloc.md\n",
            argc > 1 ? argv[1] : "any GPU");
  } else {
    if (gputopo_hwloc_is_simulated(device)) printf("%s is simulated\n", device->name);
    bind_near(topology, device);
    status = choose_tile(topology, device, 16384);
  }
  hwloc_topology_destroy(topology);
  return status;
}
