#include "hwloc_export/infos.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "hwloc_export/names.hpp"

namespace gputopo::hwloc_export {
namespace {

// A bound has its own name, so that nobody reads it as the value.
void add_value(std::vector<Info>& infos, const std::string& prefix, const std::string& attribute, const Estimate& e) {
  if (!e.value) return;
  if (is_usable(e))
    infos.emplace_back(prefix + info_name(attribute, e.unit), number_text(*e.value));
  else if (e.status == Status::lower_bound)
    infos.emplace_back(prefix + info_name(attribute + "_at_least", e.unit), number_text(*e.value));
  else if (e.status == Status::upper_bound)
    infos.emplace_back(prefix + info_name(attribute + "_at_most", e.unit), number_text(*e.value));
}

std::string confidence_text(const Estimate& e) {
  if (is_confirmed_by_counters(e)) return std::string(confirmed_by_counters);
  return e.confidence ? number_text(*e.confidence) : std::string();
}

void add_statement(std::vector<Info>& infos, const std::string& prefix, const Estimate& e) {
  infos.emplace_back(prefix + "Status", to_string(e.status));
  if (!e.method.empty()) infos.emplace_back(prefix + "Method", e.method);
  if (const std::string text = confidence_text(e); !text.empty()) infos.emplace_back(prefix + "Confidence", text);
}

bool same_statement(const Estimate& a, const Estimate& b) {
  return a.status == b.status && a.method == b.method && confidence_text(a) == confidence_text(b);
}

void add_estimate(std::vector<Info>& infos, const std::string& prefix, const std::string& attribute, const Estimate& e,
                  const Gpu& gpu) {
  add_value(infos, prefix, attribute, e);
  if (e.unit == "cycles" && is_usable(e))
    if (const auto ns = cycles_to_ns(*e.value, gpu))
      infos.emplace_back(prefix + info_name(attribute, "ns"), fmt::format("{:.2f}", *ns));
  if (e.interval)
    infos.emplace_back(prefix + info_name(attribute + "_interval", e.unit),
                       fmt::format("{} {}", number_text(e.interval->low), number_text(e.interval->high)));
  if (e.interval && e.interval_kind != interval_kinds.front())
    infos.emplace_back(prefix + info_name(attribute + "_interval_kind", ""), e.interval_kind);
}

// The size first: its statement (status, method, confidence) has the plain names, the others' only where it differs.
void add_estimates(std::vector<Info>& infos, const std::string& prefix, const Memory& memory, const Gpu& gpu) {
  const Estimate* size = memory.find("size");
  if (size != nullptr) {
    add_estimate(infos, prefix, "size", *size, gpu);
    add_statement(infos, prefix, *size);
  }
  for (const auto& [attribute, estimate] : memory.attributes) {
    if (attribute == "size") continue;
    add_estimate(infos, prefix, attribute, estimate, gpu);
    if (size == nullptr || !same_statement(*size, estimate))
      add_statement(infos, prefix + info_name(attribute, ""), estimate);
  }
}

// How many SMs share one instance: "16", or "16-18" where the groups differ. Empty where nobody knows.
std::string shared_by_sms(const Memory& memory, const Gpu& gpu) {
  if (!memory.sm_groups.empty()) {
    const auto [least, most] = std::minmax_element(memory.sm_groups.begin(), memory.sm_groups.end(),
                                                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return least->size() == most->size() ? fmt::format("{}", most->size())
                                         : fmt::format("{}-{}", least->size(), most->size());
  }
  if (memory.scope == Scope::sm) return "1";
  if (memory.scope == Scope::gpu && gpu.sm_count > 0) return fmt::format("{}", gpu.sm_count);
  return {};
}

// "8192:246656 16384:238464": what is left to the cache at each shared-memory carve-out, bytes.
std::string carve_out_text(const Memory& memory) {
  std::map<double, double> usable_of;
  for (const CarveOut& c : memory.carve_outs)
    if (is_usable(c.shared_bytes) && is_usable(c.usable_bytes))
      usable_of[*c.shared_bytes.value] = *c.usable_bytes.value;
  std::string text;
  for (const auto& [shared, usable] : usable_of)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", number_text(shared), number_text(usable));
  return text;
}

// Only what was measured; how the scope was found stands beside it.
void add_structure(std::vector<Info>& infos, const Memory& memory) {
  if (memory.scope) infos.emplace_back("Scope", to_string(*memory.scope));
  const auto found = memory.structure.find("scope");
  if (memory.scope && found != memory.structure.end() && !found->second.method.empty())
    infos.emplace_back("ScopeMethod", found->second.method);
  if (!memory.scope || !memory.instances_per_scope) return;
  const std::string instances = fmt::format("{}", *memory.instances_per_scope);
  infos.emplace_back("InstancesPerScope", instances);
  if (memory.scope == Scope::sm) infos.emplace_back("InstancesPerSM", instances);
}

}  // namespace

std::vector<Info> memory_infos(const Topology& topology, const std::vector<const Memory*>& members) {
  const Memory& main = *members.front();
  std::vector<Info> infos{{"GPUTopoId", main.id}};
  std::vector<std::string_view> others;
  for (std::size_t i = 1; i < members.size(); ++i) others.push_back(members[i]->id);
  if (!others.empty()) infos.emplace_back("GPUTopoAlso", fmt::format("{}", fmt::join(others, " ")));
  infos.emplace_back("Kind", to_string(main.kind));
  add_structure(infos, main);
  if (const std::string sms = shared_by_sms(main, topology.gpu); !sms.empty()) infos.emplace_back("SharedBySMs", sms);
  for (const auto& group : main.sm_groups) infos.emplace_back("SMs", sm_list(group));
  const std::string table_of_main = carve_out_text(main);
  for (const Memory* m : members) {
    const std::string prefix = m == &main ? "" : m->id + ".";
    add_estimates(infos, prefix, *m, topology.gpu);
    if (!m->created.empty()) infos.emplace_back(prefix + "Created", m->created);
    const std::string table = carve_out_text(*m);
    if (!table.empty() && (m == &main || table != table_of_main))
      infos.emplace_back(prefix + "UsableBytesByCarveOut", table);
  }
  return infos;
}

std::vector<Info> identity_infos(const Topology& topology, const Identity& identity) {
  std::vector<Info> infos{{"GPUDevice", identity.device}};
  if (!identity.pci_bus_id.empty()) infos.emplace_back("PCIBusID", identity.pci_bus_id);
  if (!identity.uuid.empty()) infos.emplace_back("UUID", identity.uuid);
  if (topology.provenance.simulated) infos.emplace_back("Simulated", "1");
  return infos;
}

}  // namespace gputopo::hwloc_export
