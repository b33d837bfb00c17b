#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "device/sim/reader.hpp"

namespace gputopo::sim {
namespace {

std::uint64_t read_power_of_two(Fields& fields, const char* key, Range range, std::uint64_t fallback) {
  const std::uint64_t value = fields.bytes(key, range, fallback);
  if (!std::has_single_bit(value))
    refuse(fields.at(key), fmt::format("{} is no power of two", value), "write 32, 64, 128 or the like");
  return value;
}

std::vector<std::uint32_t> read_set_ways(const Json& j, const std::string& path) {
  if (!j.is_array() || j.empty()) refuse(path, "is no list of ways", "write a list such as [17, 8, 8]");
  std::vector<std::uint32_t> ways;
  for (std::size_t i = 0; i < j.size(); ++i)
    ways.push_back(static_cast<std::uint32_t>(read_count(j[i], fmt::format("{}/{}", path, i), {1, most_cache_lines})));
  return ways;
}

// `lines`: of one array. `what`: lines or entries, for messages.
Organisation read_organisation(Fields& fields, std::uint64_t lines, std::string_view what) {
  Organisation o;
  const Json* ways = fields.find("ways");
  const Json* sets = fields.find("sets");
  const Json* set_ways = fields.find("set_ways");
  if (set_ways != nullptr) {
    if (ways != nullptr || sets != nullptr)
      refuse(fields.at("set_ways"), "goes with neither 'sets' nor 'ways'", "remove those");
    o.set_ways = read_set_ways(*set_ways, fields.at("set_ways"));
    const std::uint64_t sum = std::accumulate(o.set_ways.begin(), o.set_ways.end(), std::uint64_t{0});
    if (sum != lines)
      refuse(fields.at("set_ways"), fmt::format("adds up to {}, not to {} {}", sum, lines, what), "make them agree");
    o.sets = static_cast<std::uint32_t>(o.set_ways.size());
  }
  const Range range{1, static_cast<double>(lines)};
  if (sets != nullptr) o.sets = static_cast<std::uint32_t>(read_count(*sets, fields.at("sets"), range));
  if (ways != nullptr) {
    const std::uint64_t n = read_count(*ways, fields.at("ways"), range);
    if (sets == nullptr) o.sets = static_cast<std::uint32_t>(lines / n);
    if (o.sets * n != lines)
      refuse(fields.at("ways"), fmt::format("{} {} are not {} sets of {} ways", lines, what, o.sets, n),
             "correct the size, 'sets' or 'ways' (one of the two can be left out)");
  } else if (lines % o.sets != 0 && o.set_ways.empty()) {
    refuse(fields.at("sets"), fmt::format("{} {} don't divide into {} sets", lines, what, o.sets),
           "give each set's ways in 'set_ways'");
  }
  o.consecutive_lines = static_cast<std::uint32_t>(fields.count("consecutive_lines", {1, 65536}, 1));
  if (o.consecutive_lines > 1 && (!o.set_ways.empty() || (lines / o.sets) % o.consecutive_lines != 0))
    refuse(fields.at("consecutive_lines"), "doesn't divide the ways of a set", "write a divisor of the ways, or 1");
  if (const Json* index = fields.find("index"))
    o.index = read_choice<IndexKind>(
        *index, fields.at("index"),
        {{"modulo", IndexKind::modulo}, {"xor", IndexKind::xor_fold}, {"hash", IndexKind::hash}});
  o.folds = static_cast<std::uint32_t>(fields.count("folds", {0, 64}, 0));
  if (const Json* replacement = fields.find("replacement"))
    o.replacement = read_choice<Replacement>(*replacement, fields.at("replacement"),
                                             {{"lru", Replacement::lru},
                                              {"fifo", Replacement::fifo},
                                              {"random", Replacement::random},
                                              {"tree_plru", Replacement::tree_plru},
                                              {"not_most_recent", Replacement::not_most_recent}});
  return o;
}

Scope read_scope(Fields& fields, const Model& model, Scope fallback) {
  const Json* j = fields.find("scope");
  if (j == nullptr) return fallback;
  const auto scope = read_choice<Scope>(*j, fields.at("scope"),
                                        {{"sm", Scope::sm},
                                         {"tpc", Scope::tpc},
                                         {"cpc", Scope::cpc},
                                         {"gpc", Scope::gpc},
                                         {"partition", Scope::partition},
                                         {"gpu", Scope::gpu}});
  if (sm_groups(model, scope).empty())
    refuse(fields.at("scope"), fmt::format("the model has no groups of that kind"),
           fmt::format("add /groups/{}", to_string(scope)));
  return scope;
}

// "scope" names a grouping, "shared_by" gives one; one that has a name goes by it.
template <class T>
void read_sharing(Fields& fields, const Model& model, T& t) {
  t.scope = read_scope(fields, model, Scope::sm);
  SmSets sets = read_grouping(fields, "shared_by", model.gpu.sm_count);
  if (sets.empty()) return;
  if (fields.find("scope") != nullptr) refuse(fields.at("shared_by"), "goes not with 'scope'", "remove one of the two");
  std::sort(sets.begin(), sets.end());
  for (const Scope scope : {Scope::sm, Scope::gpu, Scope::tpc, Scope::cpc, Scope::gpc, Scope::partition}) {
    SmSets named = sm_groups(model, scope);
    std::sort(named.begin(), named.end());
    if (named != sets) continue;
    t.scope = scope;
    return;
  }
  t.shared_by = std::move(sets);
}

Partitions read_partitions(Fields& fields, const Model& model, std::uint64_t line_bytes) {
  Partitions p;
  const Json* j = fields.find("partitions");
  if (j == nullptr) return p;
  Fields part(*j, fields.at("partitions"));
  p.count = static_cast<std::uint32_t>(
      read_count(part.require("count", "say how many partitions there are"), part.at("count"), {1, 64}));
  if (p.count > 1 && model.groups.partition.size() != p.count)
    refuse(part.at("count"),
           fmt::format("{} partitions, but /groups/partition has {}", p.count, model.groups.partition.size()),
           "list in /groups/partition the SMs that are near each partition");
  if (const Json* mode = part.find("mode"))
    p.mode = read_choice<PartitionMode>(*mode, part.at("mode"),
                                        {{"home", PartitionMode::home}, {"near_copy", PartitionMode::near_copy}});
  p.interleave_bytes = part.bytes("interleave", {static_cast<double>(line_bytes), 0x1p30}, 4096);
  if (p.interleave_bytes % line_bytes != 0)
    refuse(part.at("interleave"), "is no multiple of the line", "write a multiple of the line");
  part.finish();
  return p;
}

void read_instances(Fields& fields, CacheModel& c) {
  c.instances = static_cast<std::uint32_t>(fields.count("instances", {1, 64}, 1));
  if (const Json* map = fields.find("warp_map")) {
    const std::string path = fields.at("warp_map");
    if (!map->is_array() || map->empty() || map->size() > 64)
      refuse(path, "is no list of 1 to 64 instances", "write a list such as [0, 0, 1, 1]");
    for (const Json& i : *map)
      c.warp_map.push_back(static_cast<std::uint32_t>(read_count(i, path, {0, static_cast<double>(c.instances) - 1})));
  } else {
    for (std::uint32_t i = 0; i < c.instances; ++i) c.warp_map.push_back(i);
  }
}

void check_extent(const std::string& path, std::uint64_t lines, std::uint64_t instances) {
  const double in_all = static_cast<double>(lines) * static_cast<double>(instances);
  if (static_cast<double>(lines) > most_cache_lines || in_all > most_lines_in_all)
    refuse(path, fmt::format("{} instances of {} lines or entries are too many to simulate", instances, lines),
           "make it smaller");
}

void read_writes(Fields& fields, CacheModel& c) {
  if (const Json* policy = fields.find("write_policy"))
    c.write_policy = read_choice<WritePolicy>(*policy, fields.at("write_policy"),
                                              {{"through", WritePolicy::through}, {"back", WritePolicy::back}});
  if (const Json* allocate = fields.find("write_allocate"))
    c.write_allocate = read_choice<WriteAllocate>(*allocate, fields.at("write_allocate"),
                                                  {{"none", WriteAllocate::none},
                                                   {"word", WriteAllocate::word},
                                                   {"full_sector", WriteAllocate::full_sector},
                                                   {"sector", WriteAllocate::sector},
                                                   {"line", WriteAllocate::line}});
  if (const Json* hit = fields.find("write_hit"))
    c.write_hit = read_choice<WriteHit>(*hit, fields.at("write_hit"),
                                        {{"update", WriteHit::update}, {"invalidate", WriteHit::invalidate}});
  const bool by_words = c.write_allocate == WriteAllocate::word || c.write_allocate == WriteAllocate::full_sector;
  if (by_words && !can_keep_words(c))
    refuse(fields.at("write_allocate"), "goes not with lines of 32 sectors", "write longer sectors, or 'none'");
}

CacheModel read_cache(const std::string& name, const Json& j, const std::string& path, const Model& model) {
  Fields fields(j, path);
  CacheModel c;
  c.name = check_name(name, path);
  if (name == "device_memory" || name == "shared") refuse(path, "that name is taken", "choose another name");
  c.size_bytes = read_bytes(fields.require("size", "write the bytes of one instance's array"), fields.at("size"),
                            {1, most_cache_bytes});
  fields.require("line", "write the bytes of a line");
  c.line_bytes = read_power_of_two(fields, "line", {4, 0x1p20}, 0);
  c.sector_bytes = read_power_of_two(fields, "sector", {4, 0x1p20}, c.line_bytes);
  if (c.sector_bytes > c.line_bytes || c.line_bytes / c.sector_bytes > 32)
    refuse(fields.at("sector"), fmt::format("a line of {} B has no sectors of {} B", c.line_bytes, c.sector_bytes),
           "write a divisor of the line, at most 32 to a line");
  read_sharing(fields, model, c);
  read_instances(fields, c);
  c.partitions = read_partitions(fields, model, c.line_bytes);
  if (c.partitions.count > 1 && (c.scope != Scope::gpu || c.instances != 1))
    refuse(fields.at("partitions"), "only a cache with scope gpu and one instance has them", "remove one of the two");
  if (c.size_bytes % (c.line_bytes * c.partitions.count) != 0)
    refuse(fields.at("size"), fmt::format("{} B don't divide into lines of {} B", c.size_bytes, c.line_bytes),
           "write a multiple of the line (times the partitions)");
  const std::uint64_t lines = c.size_bytes / c.line_bytes / c.partitions.count;
  check_extent(fields.at("size"), c.size_bytes / c.line_bytes, c.instances * sharing_sets(model, c).size());
  c.organisation = read_organisation(fields, lines, "lines");
  c.reserved_bytes = fields.bytes("reserved", {0, static_cast<double>(c.size_bytes) - 1}, 0);
  if (c.reserved_bytes % (c.line_bytes * c.partitions.count) != 0)
    refuse(fields.at("reserved"), "is no multiple of the line", "write a multiple of the line (times the partitions)");
  if (c.reserved_bytes != 0 && !c.organisation.set_ways.empty())
    refuse(fields.at("reserved"), "goes not with 'set_ways'", "take the reserved lines out of 'set_ways' and 'size'");
  c.prefetch_lines = static_cast<std::uint32_t>(fields.count("prefetch_lines", {0, 256}, 0));
  c.prefetch_after = static_cast<std::uint32_t>(fields.count("prefetch_after", {0, 16}, 0));
  if (c.prefetch_after != 0 && (c.prefetch_lines == 0 || c.partitions.count > 1))
    refuse(fields.at("prefetch_after"), "needs 'prefetch_lines', and a cache in one piece", "remove it");
  read_writes(fields, c);
  c.cleared_at_launch = fields.flag("cleared_at_launch", c.scope == Scope::sm && c.shared_by.empty());
  fields.finish();
  return c;
}

TlbModel read_tlb(const std::string& name, const Json& j, const std::string& path, const Model& model) {
  Fields fields(j, path);
  TlbModel t;
  t.name = check_name(name, path);
  fields.require("page", "write the bytes that one entry covers");
  t.page_bytes = read_power_of_two(fields, "page", {1024, 0x1p40}, 0);
  t.entries = static_cast<std::uint32_t>(
      read_count(fields.require("entries", "write the number of entries"), fields.at("entries"), {1, 0x1p20}));
  t.organisation = read_organisation(fields, t.entries, "entries");
  read_sharing(fields, model, t);
  check_extent(fields.at("entries"), t.entries, sharing_sets(model, t).size());
  t.miss_cycles = read_number(fields.require("miss_penalty", "write the cycles that a miss adds"),
                              fields.at("miss_penalty"), {0, most_cycles});
  fields.finish();
  return t;
}

}  // namespace

std::size_t cache_of_name(const Model& model, std::string_view name) {
  std::size_t i = 0;
  while (i < model.caches.size() && model.caches[i].name != name) ++i;
  return i;
}

std::size_t tlb_of_name(const Model& model, std::string_view name) {
  std::size_t i = 0;
  while (i < model.tlbs.size() && model.tlbs[i].name != name) ++i;
  return i;
}

void read_caches(Fields& root, Model& model) {
  if (const Json* j = root.find("caches")) {
    const Fields fields(*j, root.at("caches"));
    if (j->size() > 64) refuse(fields.path(), "has more than 64 caches", "remove some");
    for (const auto& [name, value] : j->items())
      model.caches.push_back(read_cache(name, value, fields.at(name), model));
  }
  if (const Json* j = root.find("tlbs")) {
    const Fields fields(*j, root.at("tlbs"));
    if (j->size() > 64) refuse(fields.path(), "has more than 64 TLBs", "remove some");
    for (const auto& [name, value] : j->items()) model.tlbs.push_back(read_tlb(name, value, fields.at(name), model));
  }
}

}  // namespace gputopo::sim
