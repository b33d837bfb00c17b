#include "compare/quantities.hpp"

#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "report/chip_map.hpp"

namespace gputopo::compare {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Answer exact(double value) {
  return {value, Interval{value, value}, {}};
}

Answer exact_or_unknown(double value) {
  return value > 0 ? exact(value) : Answer{};
}

Answer text_answer(std::string text) {
  return {std::nullopt, std::nullopt, std::move(text)};
}

// A normal distribution's middle half is 1.349 standard deviations wide, its middle 95 % 3.92.
Interval widened_to_95(const Interval& half, double value) {
  constexpr double factor = 3.92 / 1.349;
  return {value - factor * (value - half.low), value + factor * (half.high - value)};
}

// "6 x 16, 2 x 18": how many groups have how many SMs.
std::string group_sizes(const std::vector<std::size_t>& sizes) {
  std::map<std::size_t, std::size_t> count_of;
  for (const std::size_t size : sizes) ++count_of[size];
  std::string text;
  for (const auto& [size, count] : count_of)
    text += fmt::format("{}{} x {} SMs", text.empty() ? "" : ", ", count, size);
  return text;
}

void add_gpu(std::vector<Quantity>& list, const Gpu& gpu) {
  list.push_back({"gpu.name", "Model", "", text_answer(gpu.name)});
  list.push_back({"gpu.compute_capability", "Compute capability", "", text_answer(gpu.compute_capability)});
  list.push_back({"gpu.sm_count", "SMs", "", exact_or_unknown(gpu.sm_count)});
  list.push_back({"gpu.clock_khz", "SM clock", "kHz", exact_or_unknown(static_cast<double>(gpu.clock_khz))});
  list.push_back(
      {"gpu.memory_clock_khz", "Memory clock", "kHz", exact_or_unknown(static_cast<double>(gpu.memory_clock_khz))});
  list.push_back({"gpu.memory_bus_bits", "Memory bus", "bit", exact_or_unknown(gpu.memory_bus_bits)});
  visit_limits(gpu.limits, [&](const std::string& name, std::uint64_t value) {
    list.push_back({"gpu." + name, "Limit: " + name, "", exact_or_unknown(static_cast<double>(value))});
  });
}

// What a group of SMs is called says what else was measured. Which SMs they are is a quantity of its own.
Scope without_name(Scope scope) {
  return scope == Scope::tpc || scope == Scope::cpc || scope == Scope::gpc ? Scope::group : scope;
}

void add_structure(std::vector<Quantity>& list, const Memory& m, const std::string& name) {
  if (m.scope)
    list.push_back({m.id + ".scope", name + "scope", "", text_answer(std::string(to_string(without_name(*m.scope))))});
  if (m.instances_per_scope)
    list.push_back({m.id + ".instances_per_scope", name + "instances", "", exact(*m.instances_per_scope)});
  if (!m.physical_cache.empty())
    list.push_back({m.id + ".physical_cache", name + "same as", "", text_answer(m.physical_cache)});
  for (const auto& [about, statement] : m.structure) {
    const bool is_member = about == "scope" || about == "instances_per_scope" || about == "physical_cache";
    if (!is_member && about != "sm_groups" && is_usable(statement))
      list.push_back({fmt::format("{}.{}", m.id, about), name + about, "", text_answer(statement.value)});
  }
  std::vector<std::size_t> sizes;
  for (const auto& group : m.sm_groups) sizes.push_back(group.size());
  if (!sizes.empty())
    list.push_back({m.id + ".sm_groups", name + "groups of SMs", "", text_answer(group_sizes(sizes))});
}

void add_memory(std::vector<Quantity>& list, const Memory& m) {
  std::string name = m.label.empty() ? m.id : m.label;
  if (name.ends_with(" cache")) name.resize(name.size() - std::string_view(" cache").size());
  name += ": ";
  for (const auto& [id, estimate] : m.attributes) {
    const auto* row = catalog::find_attribute(id);
    // The separations say how sure a finding is, which is no property of the GPU.
    if (id == "partition_separation" || id == "cpc_separation") continue;
    const std::string label = row != nullptr && row->id == id ? std::string(row->label) : id;
    list.push_back({fmt::format("{}.{}", m.id, id), name + label, estimate.unit, answer_of(estimate)});
  }
  add_structure(list, m, name);
  for (const CarveOut& c : m.carve_outs) {  // what is reserved follows from the others
    const std::string key = fmt::format("{}.carve_out_{}_percent_", m.id, c.requested_percent);
    const std::string what = fmt::format("{}{} % carve-out, ", name, c.requested_percent);
    list.push_back({key + "shared", what + "shared", "B", answer_of(c.shared_bytes)});
    list.push_back({key + "usable", what + "usable", "B", answer_of(c.usable_bytes)});
  }
}

void add_map(std::vector<Quantity>& list, const Topology& topology) {
  for (const report::MapLevel& level : report::chip_map(topology)) {
    std::vector<std::size_t> sizes;
    for (const auto& group : level.groups) sizes.push_back(group.sms.size());
    list.push_back(
        {fmt::format("map.{}", level.id), fmt::format("{}s", level.name), "", text_answer(group_sizes(sizes))});
  }
}

}  // namespace

Answer answer_of(const Estimate& e) {
  if (e.status == Status::not_supported) return text_answer("not supported");
  if (!e.value || e.status == Status::inconclusive) return {};
  const Interval range = e.interval.value_or(Interval{*e.value, *e.value});
  if (e.status == Status::lower_bound) return {e.value, Interval{range.low, infinity}, {}};
  if (e.status == Status::upper_bound) return {e.value, Interval{0, range.high}, {}};
  if (e.status == Status::measured && !e.interval && *e.value != std::nearbyint(*e.value)) return {};
  if (e.interval && e.interval_kind == "50 %") return {e.value, widened_to_95(range, *e.value), {}};
  return {e.value, range, {}};
}

std::vector<Quantity> quantities(const Topology& topology) {
  std::vector<Quantity> list;
  add_gpu(list, topology.gpu);
  for (const Memory& m : topology.memories) add_memory(list, m);
  add_map(list, topology);
  return list;
}

}  // namespace gputopo::compare
