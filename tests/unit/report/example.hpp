// A topology with every status, for the renderers' tests.
#pragma once

#include "topology/topology.hpp"

namespace gputopo::report {

inline Estimate estimate(double value, const char* unit, Status status = Status::measured) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = status;
  return e;
}

inline Memory memory(const char* id, const char* label, Scope scope, const char* physical_cache) {
  Memory m;
  m.id = id;
  m.label = label;
  m.scope = scope;
  m.instances_per_scope = 1;
  m.physical_cache = physical_cache;
  return m;
}

inline Statement statement(const char* value, const char* method) {
  Statement s;
  s.value = value;
  s.status = Status::measured;
  s.method = method;
  s.confidence = 0.99;
  s.samples = 4096;
  return s;
}

inline Topology example() {
  Topology t;
  t.provenance.tool_version = "0.1.0";
  t.provenance.created = "2026-01-02T03:04:05Z";
  t.provenance.device = "cuda";
  t.provenance.driver_version = "580.1";
  t.provenance.method = "default";
  t.provenance.seed = 1;
  t.provenance.duration_s = 0.9;
  t.provenance.breakdown_s = {{"context", 0.34}, {"l1", 0.0505}};
  t.provenance.notes = {"the SM clock was throttled for 3 % of the time"};
  t.provenance.interruptions = Interruptions{12, 34.5, 210, 5, 1};
  t.gpu = {"NVIDIA Test", "GPU-1", "0000:3b:00.0", "9.0", 132, 1980000};

  Memory l1 = memory("l1", "L1 data cache", Scope::sm, "l1");
  l1.attributes["size"] = estimate(246656, "B");
  l1.attributes["line_size"] = estimate(128, "B");
  l1.attributes["sector_size"] = estimate(32, "B");
  l1.attributes["latency"] = estimate(38, "cycles");
  l1.attributes["latency"].interval = Interval{37.5, 38.5};
  l1.attributes["miss_penalty"] = estimate(240, "cycles");
  l1.structure = {{"scope", statement("sm", "eviction")},
                  {"instances_per_scope", statement("1", "eviction")},
                  {"physical_cache", statement("l1", "residency")}};
  l1.carve_outs = {{0, estimate(8192, "B", Status::api), estimate(246656, "B"), estimate(7296, "B")},
                   {100, estimate(233472, "B", Status::api), estimate(20864, "B"), estimate(7808, "B")}};

  Memory texture = memory("texture", "Texture cache", Scope::sm, "l1");
  texture.attributes["size"] = estimate(246656, "B");
  texture.attributes["size"].interval = Interval{246528, 247680};
  texture.attributes["line_size"] = estimate(256, "B", Status::upper_bound);
  texture.attributes["latency"] = estimate(87.25, "cycles");

  Memory read_only;  // of which nothing but the size is known
  read_only.id = "read_only";
  read_only.label = "Read-only cache";
  read_only.attributes["size"] = estimate(246656, "B");
  read_only.structure["physical_cache"].note = "eviction and residency disagree";

  Memory constant = memory("constant_l1_5", "Constant L1.5 cache", Scope::group, "constant_l1_5");
  constant.instances_per_scope.reset();
  constant.attributes["size"] = estimate(65536, "B", Status::lower_bound);
  constant.attributes["latency"] = estimate(104, "cycles");
  constant.sm_groups = {{0, 1, 16, 17, 2}, {3, 4}};

  Memory l2 = memory("l2", "L2 cache", Scope::partition, "l2");
  l2.instances_per_scope = 2;
  l2.attributes["size"] = estimate(62914560, "B", Status::api);
  l2.attributes["latency"].unit = "cycles";
  l2.attributes["latency"].note = "another process used the GPU";
  l2.attributes["read_bandwidth"] = estimate(5.5e12, "B/s");

  Memory device = memory("device_memory", "Device memory", Scope::gpu, "device_memory");
  device.kind = Kind::memory;
  device.attributes["size"] = estimate(150754820096.0, "B", Status::api);
  device.attributes["line_size"].status = Status::not_supported;
  device.attributes["latency"] = estimate(715.25, "cycles");
  t.memories = {l1, texture, read_only, constant, l2, device};
  t.crosscheck = {
      {"l1", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum", 262144, 16384, 15984, 15984, "equal"}};
  return t;
}

}  // namespace gputopo::report
