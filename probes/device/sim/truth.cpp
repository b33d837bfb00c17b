#include <algorithm>
#include <string>

#include "catalog/catalog.hpp"
#include "device/sim/cache_ids.hpp"
#include "device/sim/model.hpp"

namespace gputopo::sim {
namespace {

// The model's structure as members of the memory, and that it is the model which says so.
void set_structure(Memory& memory, Scope scope, std::uint32_t instances, std::string_view physical_cache) {
  memory.scope = scope;
  memory.instances_per_scope = instances;
  memory.physical_cache = physical_cache;
  const auto state = [&](const char* about, std::string value) {
    Statement& s = memory.structure[about];
    s.value = std::move(value);
    s.status = Status::truth;
    s.method = "model";
  };
  state("scope", std::string(to_string(scope)));
  state("instances_per_scope", std::to_string(instances));
  state("physical_cache", memory.physical_cache);
}

using program::Path;

// A memory with the catalog's label and kind.
Memory named(std::string_view id) {
  const catalog::MemoryRow& row = *catalog::find_memory(id);
  Memory memory;
  memory.id = row.id;
  memory.kind = row.kind;
  memory.label = row.label;
  return memory;
}

Estimate stated(double value, std::string_view unit) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::truth;
  e.method = "model";
  return e;
}

Estimate absent(std::string_view unit) {
  Estimate e;
  e.unit = unit;
  e.status = Status::not_supported;
  e.method = "model";
  return e;
}

const PathModel& l2_path(const Model& m) {
  return *m.path(Path::global_l2_only);
}

// The level that an id speaks of, or nothing where the path ends or reaches the L2 before.
const Level* level_of(const Model& m, const CacheId& id) {
  const auto& path = m.path(id.path);
  if (!path || id.level >= path->size()) return nullptr;
  const Level& level = (*path)[id.level];
  if (!level.cache) return nullptr;
  if (id.id != "l2" && level.cache == l2_path(m).front().cache) return nullptr;
  return &level;
}

// Two ids are one physical cache where their levels name the same cache.
const CacheId* first_id_of_cache(const Model& m, std::size_t cache) {
  for (const CacheId& id : cache_ids)
    if (const Level* level = level_of(m, id); level != nullptr && level->cache == cache) return &id;
  return nullptr;
}

std::string parent_of(const Model& m, const CacheId& id) {
  const PathModel& path = *m.path(id.path);
  for (std::size_t i = id.level + 1; i < path.size(); ++i) {
    if (!path[i].cache) break;
    if (const CacheId* parent = first_id_of_cache(m, *path[i].cache)) return std::string(parent->id);
  }
  return "device_memory";
}

std::vector<CarveOut> carve_out_table(const Model& m, const CacheModel& c) {
  std::vector<CarveOut> table;
  const SharedModel& s = *m.shared;
  for (const std::uint64_t bytes : s.carve_outs_bytes) {
    // The largest request that still gets this carve-out; 0 for the smallest.
    const std::uint64_t percent = table.empty() ? 0 : bytes * 100 / s.carve_outs_bytes.back();
    if (carve_out_bytes(s, static_cast<std::uint32_t>(percent), 0) != bytes) continue;
    table.push_back({percent, stated(static_cast<double>(bytes), "B"),
                     stated(static_cast<double>(usable_bytes(c, bytes)), "B"),
                     stated(static_cast<double>(c.reserved_bytes), "B")});
  }
  return table;
}

void add_partitions(Memory& memory, const CacheModel& c, const Level& level) {
  if (c.partitions.count < 2) return;
  memory.attributes["partitions"] = stated(c.partitions.count, "");
  const std::uint64_t partition_bytes = usable_bytes(c, 0) / c.partitions.count;
  memory.attributes["partition_size"] = stated(static_cast<double>(partition_bytes), "B");
  memory.attributes["far_latency"] = stated(level.far_latency_cycles, "cycles");
}

void set_absent(Memory& memory, bool is_cache) {
  memory.attributes["size"] = absent("B");
  memory.attributes["latency"] = absent("cycles");
  if (!is_cache) return;
  memory.attributes["line_size"] = absent("B");
  memory.attributes["sector_size"] = absent("B");
  memory.attributes["miss_penalty"] = absent("cycles");
}

// Memory's loads are as far as their lines' homes: of so many sides one in so many is near.
double of_any_home(const Level& memory, double sides) {
  return memory.far_latency_cycles + (memory.latency_cycles - memory.far_latency_cycles) / sides;
}

// Sides that keep copies have any line near, and memory brings it from wherever its home is.
double next_cycles(const CacheModel& c, const Level& next) {
  const bool copies = c.partitions.count > 1 && c.partitions.mode == PartitionMode::near_copy;
  return copies && !next.cache ? of_any_home(next, c.partitions.count) : next.latency_cycles;
}

Memory cache_memory(const Model& m, const CacheId& id) {
  Memory memory = named(id.id);
  const Level* level = level_of(m, id);
  if (level == nullptr) {
    set_absent(memory, true);
    return memory;
  }
  const CacheModel& c = m.caches[*level->cache];
  const bool carved = m.shared && m.shared->carved_from == level->cache;
  const Scope scope = c.shared_by.empty() ? c.scope : Scope::group;  // sm_groups says which SMs
  set_structure(memory, scope, c.instances, first_id_of_cache(m, *level->cache)->id);
  memory.parent = parent_of(m, id);
  const std::uint64_t carve_out = carved ? m.shared->carve_outs_bytes.front() : 0;
  memory.attributes["size"] = stated(static_cast<double>(usable_bytes(c, carve_out)), "B");
  memory.attributes["line_size"] = stated(static_cast<double>(c.line_bytes), "B");
  memory.attributes["sector_size"] = stated(static_cast<double>(c.sector_bytes), "B");
  memory.attributes["latency"] = stated(level->latency_cycles, "cycles");
  memory.attributes["miss_penalty"] =
      stated(next_cycles(c, (*m.path(id.path))[id.level + 1]) - level->latency_cycles, "cycles");
  add_partitions(memory, c, *level);
  if (!c.shared_by.empty() || (c.scope != Scope::sm && c.scope != Scope::gpu)) memory.sm_groups = sharing_sets(m, c);
  if (carved) memory.carve_outs = carve_out_table(m, c);
  return memory;
}

Memory shared_memory(const Model& m) {
  Memory memory = named("shared");
  if (!m.shared) {
    set_absent(memory, false);
    return memory;
  }
  set_structure(memory, Scope::sm, 1, "shared");
  memory.attributes["size"] = stated(static_cast<double>(m.shared->carve_outs_bytes.back()), "B");
  memory.attributes["latency"] = stated(m.shared->latency_cycles, "cycles");
  return memory;
}

Memory device_memory(const Model& m) {
  Memory memory = named("device_memory");
  set_structure(memory, Scope::gpu, 1, "device_memory");
  memory.attributes["size"] = stated(static_cast<double>(m.memory_bytes), "B");
  // The mean of lines: of those that an L2's sides live on one in so many is near (memory_truth.cpp).
  const Level &l2 = l2_path(m).front(), &last = l2_path(m).back();
  memory.attributes["latency"] =
      stated(of_any_home(last, l2.cache ? m.caches[*l2.cache].partitions.count : 1), "cycles");
  return memory;
}

std::vector<SmPlace> places(const Model& m) {
  std::vector<SmPlace> result;
  const Groups& g = m.groups;
  if (g.tpc.empty() && g.cpc.empty() && g.gpc.empty() && g.partition.empty()) return result;
  result.resize(m.gpu.sm_count);
  for (std::uint32_t sm = 0; sm < m.gpu.sm_count; ++sm) result[sm].sm = sm;
  const auto label = [&](const auto& groups, auto member) {
    for (std::uint32_t i = 0; i < groups.size(); ++i)
      for (const std::uint32_t sm : groups[i]) result[sm].*member = i;
  };
  label(g.tpc, &SmPlace::tpc);
  label(g.cpc, &SmPlace::cpc);
  label(g.gpc, &SmPlace::gpc);
  label(g.partition, &SmPlace::l2_partition);
  return result;
}

}  // namespace

Topology truth(const Model& model) {
  Topology t;
  t.provenance.tool_version = GPUTOPO_VERSION;
  t.provenance.device = "sim";
  t.provenance.simulated = true;
  t.provenance.seed = model.noise.seed;
  t.provenance.method = "model";
  t.gpu = model.gpu;
  for (const CacheId& id : cache_ids) t.memories.push_back(cache_memory(model, id));
  t.memories.push_back(shared_memory(model));
  t.memories.push_back(device_memory(model));
  t.sm_places = places(model);
  return t;
}

}  // namespace gputopo::sim
