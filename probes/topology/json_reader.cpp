#include "topology/json.hpp"
#include "topology/json_fields.hpp"

namespace gputopo {
namespace {

using namespace json;

constexpr int depth_limit = 12;  // the schema itself nests 6 deep

// Whether brackets outside strings nest deeper than the limit; of text that isn't JSON any answer will do.
bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"')
      in_string = !in_string;
    else if (in_string)
      i += c == '\\' ? 1 : 0;
    else if (c == '{' || c == '[') {
      if (++depth > depth_limit) return true;
    } else if (c == '}' || c == ']')
      --depth;
  }
  return false;
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
    if (as_array(*interval, at).size() != 2) bad(at, "must have two numbers");
    e.interval = Interval{as_double((*interval)[0], at + "/0"), as_double((*interval)[1], at + "/1")};
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
  if (!structure->is_object()) bad(path + "/structure", "must be an object");
  for (const auto& [about, statement] : structure->items())
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
  read_structure(m, j, path);
  const Json& attributes = member(j, path, "attributes");
  if (!attributes.is_object()) bad(path + "/attributes", "must be an object");
  for (const auto& [name, value] : attributes.items())
    m.attributes.emplace(name, read_estimate(value, fmt::format("{}/attributes/{}", path, name)));
  read_lists(m, j, path);
  if (const Json* table = optional_member(j, "carve_outs"))
    for (std::size_t i = 0; i < as_array(*table, path + "/carve_outs").size(); ++i)
      m.carve_outs.push_back(read_carve_out((*table)[i], fmt::format("{}/carve_outs/{}", path, i)));
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
  if (const Json* parts = optional_member(j, "breakdown_s")) {
    if (!parts->is_object()) bad(path + "/breakdown_s", "must be an object");
    for (const auto& [what, seconds] : parts->items())
      p.breakdown_s.emplace_back(what, as_double(seconds, fmt::format("{}/breakdown_s/{}", path, what)));
  }
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
  g.memory_clock_khz = unsigned_or_zero<std::uint64_t>(j, path, "memory_clock_khz");
  g.memory_bus_bits = unsigned_or_zero<std::uint32_t>(j, path, "memory_bus_bits");
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

SharingCheck read_sharing(const Json& j, const std::string& path) {
  SharingCheck c;
  c.first = as_string(member(j, path, "first"), path + "/first");
  c.second = as_string(member(j, path, "second"), path + "/second");
  c.verdict = as_string(member(j, path, "verdict"), path + "/verdict");
  const Json* tests = optional_member(j, "tests");
  if (tests == nullptr) return c;
  for (std::size_t i = 0; i < as_array(*tests, path + "/tests").size(); ++i) {
    const std::string at = fmt::format("{}/tests/{}", path, i);
    const Json& test = (*tests)[i];
    c.tests.push_back({as_string(member(test, at, "method"), at + "/method"),
                       as_string(member(test, at, "verdict"), at + "/verdict"),
                       as_double(member(test, at, "lost_share"), at + "/lost_share"),
                       unsigned_or_zero<std::uint64_t>(test, at, "samples")});
  }
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

Topology read_topology(const Json& j) {
  Topology t;
  if (as_string(member(j, "", "schema"), "/schema") != topology_schema)
    bad("/schema", fmt::format("must be '{}'", topology_schema));
  t.provenance = read_provenance(member(j, "", "provenance"), "/provenance");
  t.gpu = read_gpu(member(j, "", "gpu"), "/gpu");
  const Json& memories = as_array(member(j, "", "memories"), "/memories");
  for (std::size_t i = 0; i < memories.size(); ++i)
    t.memories.push_back(read_memory(memories[i], fmt::format("/memories/{}", i)));
  if (const Json* checks = optional_member(j, "crosscheck"))
    for (std::size_t i = 0; i < as_array(*checks, "/crosscheck").size(); ++i)
      t.crosscheck.push_back(read_crosscheck((*checks)[i], fmt::format("/crosscheck/{}", i)));
  if (const Json* sharing = optional_member(j, "sharing"))
    for (std::size_t i = 0; i < as_array(*sharing, "/sharing").size(); ++i)
      t.sharing.push_back(read_sharing((*sharing)[i], fmt::format("/sharing/{}", i)));
  if (const Json* places = optional_member(j, "sm_places"))
    for (std::size_t i = 0; i < as_array(*places, "/sm_places").size(); ++i)
      t.sm_places.push_back(read_place((*places)[i], fmt::format("/sm_places/{}", i)));
  return t;
}

}  // namespace

Expected<Topology> parse_topology(std::string_view text) {
  try {
    // Asked before parsing: a hostile file must not exhaust the stack, and a parser callback would double the time.
    if (nests_too_deeply(text)) throw BadField{"/: nested too deeply"};
    const Json j = Json::parse(text);
    return read_topology(j);
  } catch (const BadField& e) {
    return fail(Error::Kind::bad_input, "not a gputopo topology: " + e.message);
  } catch (const Json::exception& e) {
    return fail(Error::Kind::bad_input, fmt::format("not valid JSON: {}", e.what()));
  }
}

}  // namespace gputopo
