#include "topology/json.hpp"
#include "topology/json_fields.hpp"

namespace gputopo {
namespace {

using namespace json;

constexpr int depth_limit = 12;  // the schema itself nests 6 deep

// Appends what `read` makes of each item of a member that may be missing.
template <class T>
void read_list(std::vector<T>& list, const Json& j, const std::string& path, const char* key,
               T (*read)(const Json&, const std::string&)) {
  const Json* items = optional_member(j, key);
  if (items == nullptr) return;
  const std::string at = fmt::format("{}/{}", path, key);
  for (const Json& item : as_array(*items, at)) list.push_back(read(item, fmt::format("{}/{}", at, list.size())));
}

std::optional<double> read_confidence(const Json& j, const std::string& path) {
  const Json* confidence = optional_member(j, "confidence");
  if (confidence == nullptr) return std::nullopt;
  const double value = as_double(*confidence, path + "/confidence");
  if (value < 0 || value > 1) bad(path + "/confidence", "must lie between 0 and 1");
  return value;
}

Statement read_statement(const Json& j, const std::string& path) {
  Statement s;
  s.value = string_or_empty(j, path, "value");
  s.status = as_enum(member(j, path, "status"), path + "/status", parse_status);
  s.method = string_or_empty(j, path, "method");
  s.confidence = read_confidence(j, path);
  s.samples = unsigned_or_zero<std::uint64_t>(j, path, "samples");
  s.note = string_or_empty(j, path, "note");
  if (s.value.empty() && s.status == Status::measured) bad(path + "/value", "is measured, but says nothing");
  return s;
}

Estimate read_estimate(const Json& j, const std::string& path) {
  Estimate e;
  const Json& value = member(j, path, "value");
  if (!value.is_null()) e.value = as_double(value, path + "/value");
  e.unit = as_string(member(j, path, "unit"), path + "/unit");
  e.status = as_enum(member(j, path, "status"), path + "/status", parse_status);
  e.method = string_or_empty(j, path, "method");
  if (const Json* interval = optional_member(j, "interval")) {
    const std::string at = path + "/interval";
    const auto& ends = as_array(*interval, at);
    if (ends.size() != 2) bad(at, "must have two numbers");
    e.interval = Interval{as_double(ends[0], at + "/0"), as_double(ends[1], at + "/1")};
    if (e.interval->low > e.interval->high) bad(at, "its ends are the wrong way round");
  }
  if (const Json* kind = optional_member(j, "interval_kind")) {
    e.interval_kind = as_string(*kind, path + "/interval_kind");
    if (!is_interval_kind(e.interval_kind))
      bad(path + "/interval_kind", fmt::format("must be one of {}", fmt::join(interval_kinds, ", ")));
  }
  e.confidence = read_confidence(j, path);
  e.samples = unsigned_or_zero<std::uint64_t>(j, path, "samples");
  e.note = string_or_empty(j, path, "note");
  if (is_usable(e) && *e.value < 0) bad(path + "/value", "must not be negative");
  return e;
}

CarveOut read_carve_out(const Json& j, const std::string& path) {
  CarveOut c;
  c.requested_percent = as_unsigned<std::uint64_t>(member(j, path, "requested_percent"), path + "/requested_percent");
  c.shared_bytes = read_estimate(member(j, path, "shared"), path + "/shared");
  c.usable_bytes = read_estimate(member(j, path, "usable"), path + "/usable");
  c.reserved_bytes = read_estimate(member(j, path, "reserved"), path + "/reserved");
  return c;
}

// Who shares it and what it is one cache with: each of the members is absent where it wasn't measured.
void read_structure(Memory& m, const Json& j, const std::string& path) {
  if (const Json* scope = optional_member(j, "scope")) m.scope = as_enum(*scope, path + "/scope", parse_scope);
  if (const Json* instances = optional_member(j, "instances_per_scope"))
    m.instances_per_scope = as_unsigned<std::uint32_t>(*instances, path + "/instances_per_scope");
  m.physical_cache = string_or_empty(j, path, "physical_cache");
  const Json* structure = optional_member(j, "structure");
  if (structure == nullptr) return;
  for (const auto& [about, statement] : as_object(*structure, path + "/structure"))
    m.structure.emplace(about, read_statement(statement, fmt::format("{}/structure/{}", path, about)));
}

void read_lists(Memory& m, const Json& j, const std::string& path) {
  if (const Json* groups = optional_member(j, "sm_groups"))
    for (const Json& group : as_array(*groups, path + "/sm_groups")) {
      auto& ids = m.sm_groups.emplace_back();
      for (const Json& sm : as_array(group, path + "/sm_groups"))
        ids.push_back(as_unsigned<std::uint32_t>(sm, path + "/sm_groups"));
    }
  if (const Json* warps = optional_member(j, "warp_instances"))
    for (const Json& instance : as_array(*warps, path + "/warp_instances"))
      m.warp_instances.push_back(as_unsigned<std::uint32_t>(instance, path + "/warp_instances"));
  if (const Json* shares = optional_member(j, "disturbance"))
    for (const Json& share : as_array(*shares, path + "/disturbance"))
      m.disturbance.push_back(as_double(share, path + "/disturbance"));
}

Memory read_memory(const Json& j, const std::string& path) {
  Memory m;
  m.id = as_string(member(j, path, "id"), path + "/id");
  if (m.id.empty()) bad(path + "/id", "must not be empty");
  m.kind = as_enum(member(j, path, "kind"), path + "/kind", parse_kind);
  m.label = string_or_empty(j, path, "label");
  m.parent = string_or_empty(j, path, "parent");
  m.created = string_or_empty(j, path, "created");
  read_structure(m, j, path);
  for (const auto& [name, value] : as_object(member(j, path, "attributes"), path + "/attributes"))
    m.attributes.emplace(name, read_estimate(value, fmt::format("{}/attributes/{}", path, name)));
  read_lists(m, j, path);
  read_list(m.carve_outs, j, path, "carve_outs", read_carve_out);
  return m;
}

Interruptions read_interruptions(const Json& j, const std::string& path) {
  const auto count = [&](const char* key) {
    return as_unsigned<std::uint64_t>(member(j, path, key), fmt::format("{}/{}", path, key));
  };
  Interruptions i;
  i.switches = count("switches");
  i.away_ms = as_double(member(j, path, "away_ms"), path + "/away_ms");
  i.programs = count("programs");
  i.repeated = count("repeated");
  i.undecided = count("undecided");
  return i;
}

Provenance read_provenance(const Json& j, const std::string& path) {
  Provenance p;
  const Json& tool = member(j, path, "tool");
  p.tool_name = as_string(member(tool, path + "/tool", "name"), path + "/tool/name");
  p.tool_version = string_or_empty(tool, path + "/tool", "version");
  p.created = string_or_empty(j, path, "created");
  p.device = as_string(member(j, path, "device"), path + "/device");
  p.simulated = as_bool(member(j, path, "simulated"), path + "/simulated");
  p.driver_version = string_or_empty(j, path, "driver_version");
  p.kernels = string_or_empty(j, path, "kernels");
  p.seed = unsigned_or_zero<std::uint64_t>(j, path, "seed");
  p.method = string_or_empty(j, path, "method");
  if (const Json* duration = optional_member(j, "duration_s"))
    p.duration_s = as_double(*duration, path + "/duration_s");
  if (const Json* parts = optional_member(j, "breakdown_s"))
    for (const auto& [what, seconds] : as_object(*parts, path + "/breakdown_s"))
      p.breakdown_s.emplace_back(what, as_double(seconds, fmt::format("{}/breakdown_s/{}", path, what)));
  if (const Json* notes = optional_member(j, "notes"))
    for (const Json& note : as_array(*notes, path + "/notes")) p.notes.push_back(as_string(note, path + "/notes"));
  if (const Json* seen = optional_member(j, "interruptions"))
    p.interruptions = read_interruptions(*seen, path + "/interruptions");
  p.shared_gpu = string_or_empty(j, path, "shared_gpu");
  return p;
}

Gpu read_gpu(const Json& j, const std::string& path) {
  Gpu g;
  g.name = as_string(member(j, path, "name"), path + "/name");
  g.uuid = string_or_empty(j, path, "uuid");
  g.pci_bus_id = string_or_empty(j, path, "pci_bus_id");
  g.compute_capability = string_or_empty(j, path, "compute_capability");
  g.sm_count = unsigned_or_zero<std::uint32_t>(j, path, "sm_count");
  g.clock_khz = unsigned_or_zero<std::uint64_t>(j, path, "clock_khz");
  g.measured_clock_khz = unsigned_or_zero<std::uint64_t>(j, path, "measured_clock_khz");
  g.memory_clock_khz = unsigned_or_zero<std::uint64_t>(j, path, "memory_clock_khz");
  g.memory_bus_bits = unsigned_or_zero<std::uint32_t>(j, path, "memory_bus_bits");
  if (const Json* limits = optional_member(j, "limits")) {
    const std::string at = path + "/limits";
    if (!limits->is_object()) bad(at, "must be an object");
    visit_limits(g.limits, [&](const char* name, std::uint64_t& value) {
      value = unsigned_or_zero<std::uint64_t>(*limits, at, name);
    });
  }
  return g;
}

std::optional<std::uint32_t> label_of(const Json& j, const std::string& path, const char* key) {
  const Json* m = optional_member(j, key);
  if (m == nullptr) return std::nullopt;
  return as_unsigned<std::uint32_t>(*m, path + "/" + key);
}

CrossCheck read_crosscheck(const Json& j, const std::string& path) {
  CrossCheck c;
  c.memory = as_string(member(j, path, "memory"), path + "/memory");
  c.metric = as_string(member(j, path, "metric"), path + "/metric");
  c.size_bytes = unsigned_or_zero<std::uint64_t>(j, path, "size_bytes");
  c.loads = unsigned_or_zero<std::uint64_t>(j, path, "loads");
  c.by_timing = as_double(member(j, path, "by_timing"), path + "/by_timing");
  c.by_counter = as_double(member(j, path, "by_counter"), path + "/by_counter");
  c.verdict = as_string(member(j, path, "verdict"), path + "/verdict");
  c.carve_out_percent = unsigned_or_zero<std::uint32_t>(j, path, "carve_out_percent");
  return c;
}

SharingTest read_sharing_test(const Json& j, const std::string& path) {
  return {as_string(member(j, path, "method"), path + "/method"),
          as_string(member(j, path, "verdict"), path + "/verdict"),
          as_double(member(j, path, "lost_share"), path + "/lost_share"),
          unsigned_or_zero<std::uint64_t>(j, path, "samples")};
}

SharingCheck read_sharing(const Json& j, const std::string& path) {
  SharingCheck c;
  c.first = as_string(member(j, path, "first"), path + "/first");
  c.second = as_string(member(j, path, "second"), path + "/second");
  c.verdict = as_string(member(j, path, "verdict"), path + "/verdict");
  read_list(c.tests, j, path, "tests", read_sharing_test);
  return c;
}

SmPlace read_place(const Json& j, const std::string& path) {
  SmPlace p;
  p.sm = as_unsigned<std::uint32_t>(member(j, path, "sm"), path + "/sm");
  p.tpc = label_of(j, path, "tpc");
  p.cpc = label_of(j, path, "cpc");
  p.gpc = label_of(j, path, "gpc");
  p.l2_partition = label_of(j, path, "l2_partition");
  return p;
}

Topology topology_of(const Json& j) {
  Topology t;
  if (as_string(member(j, "", "schema"), "/schema") != topology_schema)
    bad("/schema", fmt::format("must be '{}'", topology_schema));
  if (const Json* sum = optional_member(j, "checksum");
      sum != nullptr && as_string(*sum, "/checksum") != checksum_without(j, "checksum"))
    bad("/checksum", "doesn't fit, so the file was altered or damaged");
  t.provenance = read_provenance(member(j, "", "provenance"), "/provenance");
  read_list(t.earlier_runs, j, "", "earlier_runs", read_provenance);
  t.gpu = read_gpu(member(j, "", "gpu"), "/gpu");
  as_array(member(j, "", "memories"), "/memories");
  read_list(t.memories, j, "", "memories", read_memory);
  read_list(t.crosscheck, j, "", "crosscheck", read_crosscheck);
  read_list(t.sharing, j, "", "sharing", read_sharing);
  read_list(t.sm_places, j, "", "sm_places", read_place);
  return t;
}

ReadTopology read_element(const Json& j) {
  return {topology_of(j), optional_member(j, "checksum") != nullptr};
}

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Error::Kind::bad_input, "not a gputopo topology: " + why);
}

}  // namespace

Expected<ReadTopology> read_topology(std::string_view text) {
  const auto j = json::parse(text, {.depth = depth_limit});
  if (!j) return refused("it " + j.error().message);
  try {
    return read_element(*j);
  } catch (const BadField& e) {
    return refused(e.message);
  }
}

Expected<Topology> parse_topology(std::string_view text) {
  auto read = read_topology(text);
  if (!read) return tl::unexpected<Error>(read.error());
  return std::move(read->topology);
}

Expected<std::vector<ReadTopology>> read_topologies(std::string_view text) {
  const auto j = json::parse(text, {.depth = depth_limit + 1});
  if (!j) return refused("it " + j.error().message);
  std::vector<ReadTopology> list;
  std::string place;
  try {
    if (!j->is_array()) {
      list.push_back(read_element(*j));
      return list;
    }
    for (const json::Value& one : j->array()) {
      place = fmt::format("/{}", list.size());
      list.push_back(read_element(one));
    }
  } catch (const BadField& e) {
    return refused(place + e.message);
  }
  if (list.empty()) return refused("it is an empty array");
  return list;
}

}  // namespace gputopo
