// What is true of the caches that a model's instructions pass, in the words in which a discovery says it.
#include <algorithm>
#include <array>

#include "catalog/catalog.hpp"
#include "device/sim/cache_ids.hpp"
#include "device/sim/model.hpp"
#include "device/sim/organisation_words.hpp"

namespace gputopo::sim {
namespace {

using program::Path;

constexpr std::array<std::string_view, 4> instruction_ids{"instruction_l0", "instruction_l1", "instruction_l1_5",
                                                          "instruction_l2"};

// The constants' cache that it is, where there is a name for that.
std::string_view physical_cache(const Model& model, std::size_t cache, std::string_view own) {
  for (const CacheId& id : cache_ids) {
    const auto& path = model.path(id.path);
    if (id.path == Path::constant && path && id.level < path->size() && (*path)[id.level].cache == cache) return id.id;
  }
  return own;
}

bool is_on_constants_path(const Model& model, std::size_t cache) {
  const auto& path = model.path(Path::constant);
  return path && std::any_of(path->begin(), path->end(), [&](const Level& level) { return level.cache == cache; });
}

// What code that lies all over a level takes: of sides that lines live on an SM has one as near as any other has.
double mean_latency(const Model& model, const Level& level) {
  if (!level.cache) return level.latency_cycles;
  const Partitions& sides = model.caches[*level.cache].partitions;
  if (sides.count < 2 || sides.mode != PartitionMode::home) return level.latency_cycles;
  return level.far_latency_cycles + (level.latency_cycles - level.far_latency_cycles) / sides.count;
}

// Of straight-line code that the level serves, bytes a cycle. Of what it brings in at once a cache in front may keep
// more than those before it: that one serves the rest.
double fetch_rate(const Model& model, std::size_t number) {
  const ExecutionModel& x = *model.execution;
  const std::uint64_t step = fetch_bytes(model, x.path);
  const auto sector = [&](std::size_t level) { return model.caches[*x.path[level].cache].sector_bytes; };
  std::uint64_t at_once = step;
  for (std::size_t i = 0; i < number; ++i) at_once = std::max(at_once, sector(i));
  double cycles = 0;
  for (std::uint64_t at = 0; at < at_once; at += step) {
    std::size_t server = 0;
    while (server < number && at % sector(server) == 0) ++server;
    cycles += mean_latency(model, x.path[server]) +
              x.cycles_per_instruction * static_cast<double>(step) / static_cast<double>(x.instruction_bytes);
  }
  return static_cast<double>(at_once) / cycles;
}

// SMs don't wait for one another here.
void state_fetch_rate(const Model& model, std::size_t number, Memory& memory) {
  for (const char* name : {"fetch_bandwidth", "shared_fetch_bandwidth"})
    memory.attributes[name] = true_number(fetch_rate(model, number), "B/cycle");
}

Memory instruction_memory(const Model& model, std::size_t number, std::string_view id) {
  const PathModel& path = model.execution->path;
  const Level& level = path[number];
  const CacheModel& c = model.caches[*level.cache];
  const catalog::MemoryRow& row = *catalog::find_memory(id);
  Memory memory;
  memory.id = row.id;
  memory.kind = row.kind;
  memory.label = row.label;
  memory.attributes["size"] = true_number(static_cast<double>(usable_bytes(c, 0)), "B");
  memory.attributes["line_size"] = true_number(static_cast<double>(c.line_bytes), "B");
  memory.attributes["sector_size"] = true_number(static_cast<double>(c.sector_bytes), "B");
  memory.attributes["miss_penalty"] = true_number(path[number + 1].latency_cycles - level.latency_cycles, "cycles");
  state_fetch_rate(model, number, memory);
  if (number != 0)
    memory.attributes["latency"] = true_number(level.latency_cycles - path.front().latency_cycles, "cycles");
  state_organisation(memory, c.organisation, usable_bytes(c, 0) / c.line_bytes);
  memory.scope = c.shared_by.empty() && (c.scope == Scope::sm || c.scope == Scope::gpu) ? c.scope : Scope::group;
  memory.structure["scope"] = true_text(std::string(to_string(*memory.scope)));
  if (memory.scope == Scope::group) memory.sm_groups = sharing_sets(model, c);
  memory.instances_per_scope = c.instances;
  memory.structure["instances_per_scope"] = true_text(std::to_string(c.instances));
  memory.physical_cache = physical_cache(model, *level.cache, id);
  memory.structure["physical_cache"] = true_text(memory.physical_cache);
  if (number != 0)
    memory.structure["constants"] = true_text(is_on_constants_path(model, *level.cache) ? "same" : "apart");
  return memory;
}

}  // namespace

void add_instructions(const Model& model, Topology& truth) {
  if (!model.execution) return;
  const PathModel& path = model.execution->path;
  const auto l2 = model.path(Path::global_l2_only)->front().cache;
  const auto is_beyond = [&](const Level& level) { return !level.cache || level.cache == l2; };
  const auto count = static_cast<std::size_t>(std::find_if(path.begin(), path.end(), is_beyond) - path.begin());
  const std::size_t first = count > 3 || (l2 && count == 3) ? 0 : 1;  // the last before an L2 is the L1.5
  for (std::size_t i = 0; i < path.size() && first + i < instruction_ids.size(); ++i) {
    if (path[i].cache && path[i].cache == l2)
      if (Memory* memory = truth.find("l2")) state_fetch_rate(model, i, *memory);
    if (!path[i].cache || path[i].cache == l2) return;
    truth.memories.push_back(instruction_memory(model, i, instruction_ids[first + i]));
  }
}

}  // namespace gputopo::sim
