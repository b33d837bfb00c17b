#include <algorithm>

#include <fmt/format.h>

#include "device/sim/reader.hpp"

namespace gputopo::sim {
namespace {

using program::Path;

constexpr std::array<Path, 6> walked_paths{Path::global_cached, Path::global_l2_only, Path::global_no_allocate,
                                           Path::read_only,     Path::texture,        Path::constant};

constexpr std::uint64_t most_walked_bytes = 256 << 10;  // unless a model says otherwise

Level read_level(const Json& j, const std::string& path, const Model& model) {
  Fields fields(j, path);
  Level level;
  const std::string name =
      read_text(fields.require("level", "name a cache of the model, or device_memory"), fields.at("level"));
  if (name != "device_memory") {
    level.cache = cache_of_name(model, name);
    if (*level.cache == model.caches.size())
      refuse(fields.at("level"), fmt::format("there is no cache '{}'", name),
             "name a cache under /caches, or device_memory");
  }
  level.latency_cycles = read_number(fields.require("latency", "write the cycles of a load that is served here"),
                                     fields.at("latency"), {0, most_cycles});
  level.far_latency_cycles = fields.number("far_latency", {level.latency_cycles, most_cycles}, level.latency_cycles);
  level.tag_class = static_cast<std::uint32_t>(fields.count("tag_class", {0, 7}, 0));
  if (const Json* tlbs = fields.find("tlbs")) {
    if (!tlbs->is_array() || tlbs->size() > 8)
      refuse(fields.at("tlbs"), "is no list of at most 8 TLBs", "write a list such as [\"tlb_l1\", \"tlb_l2\"]");
    for (const Json& tlb : *tlbs) {
      level.tlbs.push_back(tlb_of_name(model, read_text(tlb, fields.at("tlbs"))));
      if (level.tlbs.back() == model.tlbs.size())
        refuse(fields.at("tlbs"), "names a TLB that isn't there", "name TLBs under /tlbs");
    }
  }
  fields.finish();
  return level;
}

void check_order(const PathModel& levels, const std::string& path, const Model& model) {
  if (levels.back().cache) refuse(path, "doesn't end at the memory", "add a last level device_memory");
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const std::string here = fmt::format("{}/{}", path, i);
    if (!levels[i - 1].cache) refuse(here, "comes after device_memory", "put device_memory last");
    for (std::size_t k = 0; k < i; ++k)
      if (levels[k].cache == levels[i].cache)
        refuse(here, fmt::format("passes '{}' twice", model.caches[*levels[i].cache].name), "name each cache once");
    if (levels[i].latency_cycles <= levels[i - 1].latency_cycles)
      refuse(here + "/latency", "isn't above the latency of the level before", "write levels from fast to slow");
  }
}

PathModel read_levels(const Json& j, const std::string& path, const Model& model) {
  if (!j.is_array() || j.empty() || j.size() > 16)
    refuse(path, "is no list of 1 to 16 levels",
           "write a list such as [{\"level\": \"l1\", \"latency\": 30}, {\"level\": \"device_memory\", \"latency\": "
           "500}]");
  PathModel levels;
  for (std::size_t i = 0; i < j.size(); ++i) levels.push_back(read_level(j[i], fmt::format("{}/{}", path, i), model));
  check_order(levels, path, model);
  return levels;
}

// The levels of a path: written out, or the name of another path that is.
std::optional<PathModel> read_path(Fields& fields, const char* key, const Model& model) {
  const Json* j = fields.find(key);
  if (j == nullptr) return std::nullopt;
  if (!j->is_string()) return read_levels(*j, fields.at(key), model);
  const auto it = fields.json().find(j->get_ref<const std::string&>());
  if (it == fields.json().end() || !it->is_array())
    refuse(fields.at(key), "names no path that lists its levels", "list the levels");
  return read_levels(*it, fields.at(key), model);
}

// Where nothing is said: what of the cached path all SMs share.
PathModel beyond_private(const PathModel& cached, const Model& model) {
  const auto shared_level = [&](const Level& level) {
    return !level.cache ||
           (model.caches[*level.cache].scope == Scope::gpu && model.caches[*level.cache].shared_by.empty());
  };
  return {std::find_if(cached.begin(), cached.end(), shared_level), cached.end()};
}

void read_execution(Fields& root, Model& model, std::optional<PathModel> levels) {
  const Json* j = root.find("execution");
  if (!levels) {
    if (j != nullptr) refuse(root.at("execution"), "there is no instruction path", "add /paths/instruction");
    return;
  }
  ExecutionModel e;
  e.path = std::move(*levels);
  e.limit_bytes = std::uint64_t{1} << 20;
  e.walked_bytes = most_walked_bytes;
  if (j != nullptr) {
    Fields fields(*j, root.at("execution"));
    e.instruction_bytes = fields.bytes("instruction", {1, 64}, e.instruction_bytes);
    e.cycles_per_instruction = fields.number("cycles_per_instruction", {0, 1000}, e.cycles_per_instruction);
    e.unit_bytes = fields.bytes("unit", {1, 0x1p20}, e.unit_bytes);
    e.limit_bytes = fields.bytes("limit", {1, 0x1p28}, e.limit_bytes);
    e.block_bytes = fields.bytes("block", {4, 4096}, e.block_bytes);
    e.walked_bytes = fields.bytes("walked", {0, 0x1p28}, std::min(e.limit_bytes, most_walked_bytes));
    e.between_bytes = fields.bytes("between", {0, 0x1p16}, e.between_bytes);
    if (e.block_bytes % 4 != 0)
      refuse(fields.at("block"), "is no multiple of 4", "write what a block of code takes, such as 128");
    fields.finish();
  }
  model.paths[static_cast<std::size_t>(Path::instruction)] = e.path;
  model.execution = std::move(e);
}

void read_clock_overhead(Fields& root, Model& model) {
  const Json* j = root.find("clock_overhead");
  if (j == nullptr) return;
  const Range range{0, 10000};
  if (j->is_number()) {
    model.clock_overhead_cycles.fill(read_number(*j, root.at("clock_overhead"), range));
    return;
  }
  Fields fields(*j, root.at("clock_overhead"));
  const double fallback = fields.number("default", range, 0);
  for (std::size_t i = 0; i < path_count; ++i)
    model.clock_overhead_cycles[i] =
        fields.number(std::string(to_string(static_cast<Path>(i))).c_str(), range, fallback);
  fields.finish();
}

}  // namespace

void read_paths(Fields& root, Model& model) {
  Fields fields(root.require("paths", "add the paths, at least global_cached"), root.at("paths"));
  fields.require("global_cached", "list its levels; without a cache: device_memory alone");
  const auto slot = [&](Path p) -> std::optional<PathModel>& { return model.paths[static_cast<std::size_t>(p)]; };
  for (const Path p : walked_paths) {
    const std::string key(to_string(p));
    const Json* j = fields.find(key.c_str());
    if (p == Path::global_no_allocate && j != nullptr && j->is_boolean()) {
      if (j->get<bool>()) slot(p) = model.path(Path::global_cached);
    } else {
      slot(p) = read_path(fields, key.c_str(), model);
    }
  }
  if (!slot(Path::global_l2_only)) slot(Path::global_l2_only) = beyond_private(*model.path(Path::global_cached), model);
  read_execution(root, model, read_path(fields, "instruction", model));
  fields.finish();
  read_clock_overhead(root, model);
}

void read_shared(Fields& root, Model& model) {
  const Json* j = root.find("shared");
  if (j == nullptr) return;
  Fields fields(*j, root.at("shared"));
  SharedModel s;
  if (const Json* name = fields.find("carved_from")) {
    s.carved_from = cache_of_name(model, read_text(*name, fields.at("carved_from")));
    if (*s.carved_from == model.caches.size())
      refuse(fields.at("carved_from"), "names a cache that isn't there", "name a cache under /caches");
    const CacheModel& c = model.caches[*s.carved_from];
    if (c.scope != Scope::sm || !c.shared_by.empty() || c.instances != 1 || !c.organisation.set_ways.empty())
      refuse(fields.at("carved_from"), "that cache isn't one of one instance an SM, with sets alike",
             "give the cache scope sm, one instance and no 'set_ways'");
  }
  const Json& sizes = fields.require("carve_outs", "list the sizes that can be chosen, or the one size");
  const std::string path = fields.at("carve_outs");
  if (!sizes.is_array() || sizes.empty() || sizes.size() > 64)
    refuse(path, "is no list of 1 to 64 sizes", "write a list such as [\"48 KiB\"]");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string here = fmt::format("{}/{}", path, i);
    s.carve_outs_bytes.push_back(read_bytes(sizes[i], here, {0, 0x1p30}));
    if (i > 0 && s.carve_outs_bytes[i] <= s.carve_outs_bytes[i - 1])
      refuse(here, "isn't above the one before", "list the sizes from small to large");
    if (!s.carved_from) continue;
    const CacheModel& c = model.caches[*s.carved_from];
    if (s.carve_outs_bytes[i] % c.line_bytes != 0)
      refuse(here, "is no multiple of the line of the cache it is carved from", "write a multiple of the line");
    if (s.carve_outs_bytes[i] + c.reserved_bytes + c.line_bytes > c.size_bytes)
      refuse(here, "leaves nothing of the cache that it is carved from", "write a smaller size");
  }
  const std::uint64_t largest = s.carve_outs_bytes.back();
  if (largest == 0) refuse(path, "has no size above 0", "leave out /shared where there is no shared memory");
  s.latency_cycles =
      read_number(fields.require("latency", "write the cycles of a load"), fields.at("latency"), {0, most_cycles});
  const Range in_block{0, static_cast<double>(largest)};
  s.block_reserved_bytes = fields.bytes("block_reserved", in_block, 0);
  s.block_limit_bytes = fields.bytes("block_limit", in_block, largest - s.block_reserved_bytes);
  if (s.block_limit_bytes > largest - s.block_reserved_bytes)
    refuse(fields.at("block_limit"), "doesn't fit the largest carve-out with 'block_reserved'", "make it smaller");
  fields.finish();
  model.shared = s;
}

}  // namespace gputopo::sim
