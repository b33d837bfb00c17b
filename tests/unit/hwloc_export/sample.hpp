// A small GPU of our own making, built by hand so that the tests know every number.
#pragma once

#include <numeric>
#include <string>
#include <utility>

#include "topology/topology.hpp"

namespace gputopo::hwloc_export {

inline Estimate estimate(double value, std::string unit, Status status = Status::measured) {
  Estimate e;
  e.value = value;
  e.unit = std::move(unit);
  e.status = status;
  e.method = "residency";
  e.confidence = 0.99;
  return e;
}

inline Memory memory(std::string id, Kind kind, Scope scope, std::string parent, double size_bytes) {
  Memory m;
  m.id = std::move(id);
  m.physical_cache = m.id;
  m.kind = kind;
  m.scope = scope;
  m.instances_per_scope = 1;
  m.parent = std::move(parent);
  m.attributes["size"] = estimate(size_bytes, "B");
  return m;
}

/// 132 SMs in 8 GPCs; L1, texture and read-only one cache; an L1.5 in each GPC.
inline Topology sample() {
  Topology t;
  t.provenance.tool_version = "1.2.3";
  t.provenance.device = "cuda";
  t.provenance.driver_version = "580.159.04";
  t.gpu.name = "NVIDIA Sample";
  t.gpu.uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  t.gpu.pci_bus_id = "0000:3b:00.0";
  t.gpu.compute_capability = "9.0";
  t.gpu.sm_count = 132;
  t.gpu.clock_khz = 2000000;
  t.gpu.memory_bus_bits = 6144;
  constexpr double kib = 1024;
  Memory l1 = memory("l1", Kind::cache, Scope::sm, "l2", 240.875 * kib);
  l1.attributes["latency"] = estimate(38, "cycles");
  l1.attributes["line_size"] = estimate(128, "B");
  Memory texture = memory("texture", Kind::cache, Scope::sm, "l2", 240.875 * kib);
  texture.physical_cache = "l1";
  texture.attributes["latency"] = estimate(87, "cycles");
  Memory read_only = memory("read_only", Kind::cache, Scope::sm, "l2", 240.875 * kib);
  read_only.physical_cache = "l1";
  Memory l1_5 = memory("constant_l1_5", Kind::cache, Scope::gpc, "l2", 128 * kib);
  std::uint32_t first = 0;
  for (const std::uint32_t sms : {16, 16, 16, 16, 16, 16, 18, 18}) {
    auto& group = l1_5.sm_groups.emplace_back(sms);
    std::iota(group.begin(), group.end(), first);
    first += sms;
  }
  // Not in the order of nesting, as a reader can't rely on any.
  t.memories = {texture,
                l1,
                read_only,
                memory("constant_l1", Kind::cache, Scope::sm, "constant_l1_5", 2 * kib),
                l1_5,
                memory("l2", Kind::cache, Scope::gpu, "device_memory", 60 * kib * kib),
                memory("shared", Kind::scratchpad, Scope::sm, "", 228 * kib),
                memory("device_memory", Kind::memory, Scope::gpu, "", 139.8 * kib * kib * kib)};
  return t;
}

}  // namespace gputopo::hwloc_export
