#include <cmath>

#include <nlohmann/json.hpp>

#include "json/value.hpp"
#include "topology/json.hpp"

namespace gputopo {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Whole numbers print as integers: sizes in bytes read as 246656, not 246656.0.
OrderedJson number(double value) {
  constexpr double exact_limit = 9007199254740992.0;  // 2^53
  if (std::nearbyint(value) == value && std::fabs(value) < exact_limit) return static_cast<std::int64_t>(value);
  return value;
}

OrderedJson estimate_json(const Estimate& e, const Gpu* gpu) {
  OrderedJson j;
  j["value"] = e.value ? number(*e.value) : OrderedJson(nullptr);
  j["unit"] = e.unit;
  j["status"] = to_string(e.status);
  j["method"] = e.method;
  if (e.interval) j["interval"] = {number(e.interval->low), number(e.interval->high)};
  if (e.interval && e.interval_kind != interval_kinds.front()) j["interval_kind"] = e.interval_kind;
  if (e.confidence) j["confidence"] = *e.confidence;
  j["samples"] = e.samples;
  if (gpu != nullptr && e.unit == "cycles" && e.value)
    if (const auto ns = cycles_to_ns(*e.value, *gpu)) j["value_ns"] = std::round(*ns * 100) / 100;
  if (!e.note.empty()) j["note"] = e.note;
  return j;
}

OrderedJson statement_json(const Statement& s) {
  OrderedJson j{{"value", s.value.empty() ? OrderedJson(nullptr) : OrderedJson(s.value)},
                {"status", to_string(s.status)},
                {"method", s.method}};
  if (s.confidence) j["confidence"] = *s.confidence;
  j["samples"] = s.samples;
  if (!s.note.empty()) j["note"] = s.note;
  return j;
}

OrderedJson memory_json(const Memory& m, const Gpu& gpu) {
  OrderedJson j;
  j["id"] = m.id;
  j["kind"] = to_string(m.kind);
  j["label"] = m.label;
  if (m.scope) j["scope"] = to_string(*m.scope);
  if (m.instances_per_scope) j["instances_per_scope"] = *m.instances_per_scope;
  j["parent"] = m.parent;
  if (!m.created.empty()) j["created"] = m.created;
  if (!m.physical_cache.empty()) j["physical_cache"] = m.physical_cache;
  for (const auto& [about, statement] : m.structure) j["structure"][about] = statement_json(statement);
  j["attributes"] = OrderedJson::object();
  for (const auto& [name, estimate] : m.attributes) j["attributes"][name] = estimate_json(estimate, &gpu);
  if (!m.sm_groups.empty()) j["sm_groups"] = m.sm_groups;
  if (!m.warp_instances.empty()) j["warp_instances"] = m.warp_instances;
  if (!m.disturbance.empty()) j["disturbance"] = m.disturbance;
  if (!m.carve_outs.empty()) {
    j["carve_outs"] = OrderedJson::array();
    for (const CarveOut& c : m.carve_outs)
      j["carve_outs"].push_back({{"requested_percent", c.requested_percent},
                                 {"shared", estimate_json(c.shared_bytes, nullptr)},
                                 {"usable", estimate_json(c.usable_bytes, nullptr)},
                                 {"reserved", estimate_json(c.reserved_bytes, nullptr)}});
  }
  return j;
}

OrderedJson provenance_json(const Provenance& p) {
  OrderedJson j;
  j["tool"] = {{"name", p.tool_name}, {"version", p.tool_version}};
  j["created"] = p.created;
  j["device"] = p.device;
  j["simulated"] = p.simulated;
  j["driver_version"] = p.driver_version;
  if (!p.kernels.empty()) j["kernels"] = p.kernels;
  j["seed"] = p.seed;
  j["method"] = p.method;
  j["duration_s"] = p.duration_s;
  j["breakdown_s"] = OrderedJson::object();
  for (const auto& [what, seconds] : p.breakdown_s) j["breakdown_s"][what] = seconds;
  j["notes"] = p.notes;
  if (p.interruptions)
    j["interruptions"] = {{"switches", p.interruptions->switches},
                          {"away_ms", number(p.interruptions->away_ms)},
                          {"programs", p.interruptions->programs},
                          {"repeated", p.interruptions->repeated},
                          {"undecided", p.interruptions->undecided}};
  if (!p.shared_gpu.empty()) j["shared_gpu"] = p.shared_gpu;
  return j;
}

OrderedJson gpu_json(const Gpu& g) {
  OrderedJson j{{"name", g.name},
                {"uuid", g.uuid},
                {"pci_bus_id", g.pci_bus_id},
                {"compute_capability", g.compute_capability},
                {"sm_count", g.sm_count},
                {"clock_khz", g.clock_khz},
                {"memory_clock_khz", g.memory_clock_khz},
                {"memory_bus_bits", g.memory_bus_bits}};
  if (g.measured_clock_khz > 0) j["measured_clock_khz"] = g.measured_clock_khz;
  visit_limits(g.limits, [&](const char* name, std::uint64_t value) {
    if (value > 0) j["limits"][name] = value;
  });
  return j;
}

OrderedJson place_json(const SmPlace& p) {
  OrderedJson j{{"sm", p.sm}};
  if (p.tpc) j["tpc"] = *p.tpc;
  if (p.cpc) j["cpc"] = *p.cpc;
  if (p.gpc) j["gpc"] = *p.gpc;
  if (p.l2_partition) j["l2_partition"] = *p.l2_partition;
  return j;
}

OrderedJson sharing_json(const SharingCheck& c) {
  OrderedJson j{{"first", c.first}, {"second", c.second}, {"verdict", c.verdict}, {"tests", OrderedJson::array()}};
  for (const SharingTest& t : c.tests)
    j["tests"].push_back(
        {{"method", t.method}, {"verdict", t.verdict}, {"lost_share", number(t.lost_share)}, {"samples", t.samples}});
  return j;
}

// Of what a reader will find, whatever the text looks like.
void add_checksum(OrderedJson& j) {
  if (const auto read = json::parse(j.dump(-1, ' ', false, OrderedJson::error_handler_t::replace), {}))
    j["checksum"] = json::checksum_without(*read, {});
}

}  // namespace

OrderedJson to_json(const Estimate& estimate) {
  return estimate_json(estimate, nullptr);
}

OrderedJson to_json(const Topology& topology) {
  OrderedJson j;
  j["schema"] = topology_schema;
  j["provenance"] = provenance_json(topology.provenance);
  for (const Provenance& run : topology.earlier_runs) j["earlier_runs"].push_back(provenance_json(run));
  j["gpu"] = gpu_json(topology.gpu);
  j["memories"] = OrderedJson::array();
  for (const Memory& m : topology.memories) j["memories"].push_back(memory_json(m, topology.gpu));
  j["crosscheck"] = OrderedJson::array();
  for (const CrossCheck& c : topology.crosscheck) {
    OrderedJson& entry = j["crosscheck"].emplace_back(OrderedJson{{"memory", c.memory},
                                                                  {"metric", c.metric},
                                                                  {"size_bytes", c.size_bytes},
                                                                  {"loads", c.loads},
                                                                  {"by_timing", number(c.by_timing)},
                                                                  {"by_counter", number(c.by_counter)},
                                                                  {"verdict", c.verdict}});
    if (c.carve_out_percent != 0) entry["carve_out_percent"] = c.carve_out_percent;
  }
  if (!topology.sharing.empty()) {
    j["sharing"] = OrderedJson::array();
    for (const SharingCheck& c : topology.sharing) j["sharing"].push_back(sharing_json(c));
  }
  if (!topology.sm_places.empty()) {
    j["sm_places"] = OrderedJson::array();
    for (const SmPlace& p : topology.sm_places) j["sm_places"].push_back(place_json(p));
  }
  add_checksum(j);
  return j;
}

std::string json_text(const OrderedJson& json) {
  return json.dump(2, ' ', true, OrderedJson::error_handler_t::replace) + "\n";
}

std::string to_json_text(const Topology& topology) {
  return json_text(to_json(topology));
}

}  // namespace gputopo
