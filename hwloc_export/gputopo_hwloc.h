/* Reading GPU memories from an hwloc topology: header-only C99, in the manner of hwloc/cuda.h.
 *
 * The memories are there where hwloc loaded the gputopo component, or the topology came from an XML file that has them.
 * Load the topology with I/O and Misc objects, which hwloc leaves out by default:
 *
 *   hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
 *   hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
 *
 * Memory ids: "l1", "texture", "read_only", "constant_l1", "constant_l1_5", "l2", "shared", "device_memory", "instruction_l0", "instruction_l1", "instruction_l1_5", "instruction_l2", "tlb_l1", "tlb_l2", "tlb_l3".
 * Units: bytes, SM cycles, nanoseconds.
 * Functions that return int return 0, or -1 with errno: ENOENT where the topology doesn't have the number (it wasn't
 * measured, isn't sure, or is only a bound), EINVAL where it has something that isn't a number.
 */
#ifndef GPUTOPO_HWLOC_H
#define GPUTOPO_HWLOC_H

#include <errno.h>
#include <hwloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The next GPU's OS device with memories or flat attributes of gputopo; the first for prev NULL; NULL after the last.
 */
static inline hwloc_obj_t gputopo_hwloc_next_device(hwloc_topology_t topology, hwloc_obj_t prev) {
  do {
    prev = hwloc_get_next_osdev(topology, prev);
  } while (prev != NULL && hwloc_obj_get_info_by_name(prev, "GPUTopoSource") == NULL);
  return prev;
}

/** The device of that name ("cuda0"), or NULL. */
static inline hwloc_obj_t gputopo_hwloc_device_by_name(hwloc_topology_t topology, const char* name) {
  hwloc_obj_t device = NULL;
  while ((device = gputopo_hwloc_next_device(topology, device)) != NULL)
    if (device->name != NULL && strcmp(device->name, name) == 0) return device;
  return NULL;
}

/** The device of the GPU with this UUID ("GPU-..."), or NULL. */
static inline hwloc_obj_t gputopo_hwloc_device_by_uuid(hwloc_topology_t topology, const char* uuid) {
  hwloc_obj_t device = NULL;
  while ((device = gputopo_hwloc_next_device(topology, device)) != NULL) {
    const char* own = hwloc_obj_get_info_by_name(device, "GPUTopoUUID");
    if (own != NULL && strcmp(own, uuid) == 0) return device;
  }
  return NULL;
}

/** The device below the PCI device at this address, or NULL. For CUDA's numbering see cudaDeviceGetPCIBusId. */
static inline hwloc_obj_t gputopo_hwloc_device_by_pci(hwloc_topology_t topology, unsigned domain, unsigned bus,
                                                      unsigned dev, unsigned func) {
  hwloc_obj_t device = NULL;
  while ((device = gputopo_hwloc_next_device(topology, device)) != NULL) {
    hwloc_obj_t at = device->parent;
    while (at != NULL && at->type == HWLOC_OBJ_OS_DEVICE) at = at->parent;
    if (at != NULL && at->type == HWLOC_OBJ_PCI_DEVICE && at->attr->pcidev.domain == domain &&
        at->attr->pcidev.bus == bus && at->attr->pcidev.dev == dev && at->attr->pcidev.func == func)
      return device;
  }
  return NULL;
}

/** Nonzero where the GPU is simulated. */
static inline int gputopo_hwloc_is_simulated(hwloc_obj_t device) {
  const char* source = hwloc_obj_get_info_by_name(device, "GPUTopoSource");
  return source != NULL && strcmp(source, "simulated") == 0;
}

/** Nonzero where an object of gputopo is this device's, wherever hwloc has moved it. */
static inline int gputopo_hwloc_belongs_to(hwloc_obj_t object, hwloc_obj_t device) {
  const char* uuid = hwloc_obj_get_info_by_name(device, "GPUTopoUUID");
  const char* own = hwloc_obj_get_info_by_name(object, uuid != NULL ? "UUID" : "GPUDevice");
  const char* key = uuid != NULL ? uuid : device->name;
  return own != NULL && key != NULL && strcmp(own, key) == 0;
}

/** The next memory of a device, outer ones before inner ones; the first for prev NULL; NULL after the last.
 * Memories of one physical cache (L1, texture and read-only on most GPUs) are one object. Found by the identity that
 * every object carries, so also where hwloc has moved the objects away from their device. */
static inline hwloc_obj_t gputopo_hwloc_next_memory(hwloc_topology_t topology, hwloc_obj_t device, hwloc_obj_t prev) {
  do {
    prev = hwloc_get_next_obj_by_depth(topology, HWLOC_TYPE_DEPTH_MISC, prev);
    /* Parts of the chip (GPC, SM) have no kind. */
  } while (prev != NULL &&
           (hwloc_obj_get_info_by_name(prev, "GPUTopoId") == NULL || hwloc_obj_get_info_by_name(prev, "Kind") == NULL ||
            !gputopo_hwloc_belongs_to(prev, device)));
  return prev;
}

/** Nonzero where the object is the memory with this id, or one cache with it. */
static inline int gputopo_hwloc_memory_is(hwloc_obj_t memory, const char* id) {
  const char* own = hwloc_obj_get_info_by_name(memory, "GPUTopoId");
  const char* also = hwloc_obj_get_info_by_name(memory, "GPUTopoAlso");
  size_t length = strlen(id);
  if (own != NULL && strcmp(own, id) == 0) return 1;
  while (also != NULL && *also != '\0') {
    const char* end = strchr(also, ' ');
    size_t word = end != NULL ? (size_t)(end - also) : strlen(also);
    if (word == length && strncmp(also, id, length) == 0) return 1;
    also = end != NULL ? end + 1 : NULL;
  }
  return 0;
}

/** A device's memory by id, or NULL. */
static inline hwloc_obj_t gputopo_hwloc_memory_by_id(hwloc_topology_t topology, hwloc_obj_t device, const char* id) {
  hwloc_obj_t memory = NULL;
  while ((memory = gputopo_hwloc_next_memory(topology, device, memory)) != NULL)
    if (gputopo_hwloc_memory_is(memory, id)) return memory;
  return NULL;
}

/** An attribute as text for one of the memory's ids: "SizeBytes", "LatencyCycles", "Status", "Method", ...; NULL where
 * there is none. id NULL is the object's first. */
static inline const char* gputopo_hwloc_text(hwloc_obj_t memory, const char* id, const char* attribute) {
  const char* own = hwloc_obj_get_info_by_name(memory, "GPUTopoId");
  char name[320];
  int length;
  if (id == NULL || (own != NULL && strcmp(own, id) == 0)) return hwloc_obj_get_info_by_name(memory, attribute);
  length = snprintf(name, sizeof(name), "%s.%s", id, attribute);
  if (length < 0 || (size_t)length >= sizeof(name)) return NULL;
  return hwloc_obj_get_info_by_name(memory, name);
}

/** Reads "123" or "123.45", whatever the locale; *end is set behind it. */
static inline int gputopo_hwloc_parse(const char* text, double* value, const char** end) {
  double scale = 1;
  const char* first = text;
  *value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) *value = *value * 10 + (*text - '0');
  if (text != first && *text == '.')
    for (++text; *text >= '0' && *text <= '9'; ++text) *value += (*text - '0') * (scale /= 10);
  *end = text;
  if (text != first) return 0;
  errno = EINVAL;
  return -1;
}

/** A number that came from a text, as long as it fits below `limit`. */
static inline int gputopo_hwloc_whole(double value, double limit, uint64_t* whole) {
  if (value < limit) {
    *whole = (uint64_t)value;
    return 0;
  }
  errno = EINVAL;
  return -1;
}

/** An attribute as a number; see gputopo_hwloc_text. */
static inline int gputopo_hwloc_number(hwloc_obj_t memory, const char* id, const char* attribute, double* value) {
  const char* text = gputopo_hwloc_text(memory, id, attribute);
  const char* end;
  if (text == NULL) {
    errno = ENOENT;
    return -1;
  }
  if (gputopo_hwloc_parse(text, value, &end) != 0) return -1;
  if (*end == '\0') return 0;
  errno = EINVAL;
  return -1;
}

static inline int gputopo_hwloc_bytes(hwloc_obj_t memory, const char* id, const char* attribute, uint64_t* bytes) {
  double value;
  if (gputopo_hwloc_number(memory, id, attribute, &value) != 0) return -1;
  return gputopo_hwloc_whole(value, 18446744073709551616.0, bytes);
}

/** Bytes of one instance. */
static inline int gputopo_hwloc_size(hwloc_obj_t memory, const char* id, uint64_t* bytes) {
  return gputopo_hwloc_bytes(memory, id, "SizeBytes", bytes);
}

/** Bytes of a line: what one tag stands for. */
static inline int gputopo_hwloc_line_size(hwloc_obj_t memory, const char* id, uint64_t* bytes) {
  return gputopo_hwloc_bytes(memory, id, "LineSizeBytes", bytes);
}

/** Bytes of a sector: what one miss brings in. */
static inline int gputopo_hwloc_sector_size(hwloc_obj_t memory, const char* id, uint64_t* bytes) {
  return gputopo_hwloc_bytes(memory, id, "SectorSizeBytes", bytes);
}

/** SM cycles from a load to its value. */
static inline int gputopo_hwloc_latency_cycles(hwloc_obj_t memory, const char* id, double* cycles) {
  return gputopo_hwloc_number(memory, id, "LatencyCycles", cycles);
}

/** The same in nanoseconds, at the SM clock of the measurement. */
static inline int gputopo_hwloc_latency_ns(hwloc_obj_t memory, const char* id, double* ns) {
  return gputopo_hwloc_number(memory, id, "LatencyNs", ns);
}

/** "sm", "tpc", "cpc", "gpc", "partition" or "gpu": the part of the chip that has its own instances; NULL if unknown.
 */
static inline const char* gputopo_hwloc_scope(hwloc_obj_t memory) {
  return hwloc_obj_get_info_by_name(memory, "Scope");
}

/** How many SMs share one instance; groups may differ in size, so from *least to *most. */
static inline int gputopo_hwloc_shared_by_sms(hwloc_obj_t memory, unsigned* least, unsigned* most) {
  const char* text = hwloc_obj_get_info_by_name(memory, "SharedBySMs");
  const double limit = 4294967296.0;
  uint64_t sms;
  double value;
  if (text == NULL) {
    errno = ENOENT;
    return -1;
  }
  if (gputopo_hwloc_parse(text, &value, &text) != 0 || gputopo_hwloc_whole(value, limit, &sms) != 0) return -1;
  *least = *most = (unsigned)sms;
  if (*text == '\0') return 0;
  if (*text == '-' && gputopo_hwloc_parse(text + 1, &value, &text) == 0 && *text == '\0' &&
      gputopo_hwloc_whole(value, limit, &sms) == 0) {
    *most = (unsigned)sms;
    return 0;
  }
  errno = EINVAL;
  return -1;
}

/** The SMs of one of an object's groups, as "0-1,16-17": of a memory that SMs share ("constant_l1_5"), of a part of the
 * chip or of a side of the L2. Groups are numbered from 0; NULL behind the last, or where it wasn't measured. */
static inline const char* gputopo_hwloc_sms(hwloc_obj_t object, unsigned group) {
  unsigned i;
#if HWLOC_API_VERSION >= 0x00030000
  const struct hwloc_info_s* infos = object->infos.array;
  unsigned count = object->infos.count;
#else
  const struct hwloc_info_s* infos = object->infos;
  unsigned count = object->infos_count;
#endif
  for (i = 0; i < count; ++i)
    if (strcmp(infos[i].name, "SMs") == 0 && group-- == 0) return infos[i].value;
  return NULL;
}

/** Nonzero where a list such as "0-1,16-17" has this SM. */
static inline int gputopo_hwloc_list_has_sm(const char* list, unsigned sm) {
  while (*list >= '0' && *list <= '9') {
    char* end;
    unsigned long first = strtoul(list, &end, 10), last = first;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    if (sm >= first && sm <= last) return 1;
    list = *end == ',' ? end + 1 : end;
  }
  return 0;
}

/** Which of an object's groups an SM is in, such as which L1.5 it uses. */
static inline int gputopo_hwloc_group_of_sm(hwloc_obj_t object, unsigned sm, unsigned* group) {
  const char* list;
  unsigned i;
  for (i = 0; (list = gputopo_hwloc_sms(object, i)) != NULL; ++i)
    if (gputopo_hwloc_list_has_sm(list, sm)) {
      *group = i;
      return 0;
    }
  errno = ENOENT;
  return -1;
}

/** A device's object by its GPUTopoId, memory or not: "part_gpc", "part_sm", "l2_side_0"; NULL where there is none. */
static inline hwloc_obj_t gputopo_hwloc_object_by_id(hwloc_topology_t topology, hwloc_obj_t device, const char* id) {
  hwloc_obj_t object = NULL;
  while ((object = hwloc_get_next_obj_by_depth(topology, HWLOC_TYPE_DEPTH_MISC, object)) != NULL) {
    const char* own = hwloc_obj_get_info_by_name(object, "GPUTopoId");
    if (own != NULL && strcmp(own, id) == 0 && gputopo_hwloc_belongs_to(object, device)) return object;
  }
  return NULL;
}

/** Which side of the L2 an SM is on; sides are numbered from 0. */
static inline int gputopo_hwloc_l2_side_of_sm(hwloc_topology_t topology, hwloc_obj_t device, unsigned sm,
                                              unsigned* side) {
  char id[32];
  for (*side = 0;; ++*side) {
    hwloc_obj_t object;
    const char* list;
    snprintf(id, sizeof(id), "l2_side_%u", *side);
    object = gputopo_hwloc_object_by_id(topology, device, id);
    if (object == NULL) break;
    list = gputopo_hwloc_sms(object, 0);
    if (list != NULL && gputopo_hwloc_list_has_sm(list, sm)) return 0;
  }
  errno = ENOENT;
  return -1;
}

/** Bytes of an L1 that are left to loads while a kernel's blocks on one SM use shared_bytes of shared memory: those of
 * the smallest carve-out that holds them. ENOENT also where no carve-out does. */
static inline int gputopo_hwloc_usable_bytes(hwloc_obj_t l1, uint64_t shared_bytes, uint64_t* bytes) {
  const char* text = hwloc_obj_get_info_by_name(l1, "UsableBytesByCarveOut");
  while (text != NULL && *text != '\0') {
    double shared, usable;
    if (gputopo_hwloc_parse(text, &shared, &text) != 0) return -1;
    if (*text != ':' || gputopo_hwloc_parse(text + 1, &usable, &text) != 0) {
      errno = EINVAL;
      return -1;
    }
    if (shared >= (double)shared_bytes) return gputopo_hwloc_whole(usable, 18446744073709551616.0, bytes);
    while (*text == ' ') ++text;
  }
  errno = ENOENT;
  return -1;
}

/** A flat attribute of the device, for topologies loaded without Misc objects: "GPUTopoL1dSize", "GPUTopoL2LineSize"
 * (bytes), "GPUTopoTexLatencyCycles" (SM cycles), ... */
static inline int gputopo_hwloc_flat_number(hwloc_obj_t device, const char* name, double* value) {
  return gputopo_hwloc_number(device, NULL, name, value);
}

#ifdef __cplusplus
}
#endif

#endif /* GPUTOPO_HWLOC_H */
