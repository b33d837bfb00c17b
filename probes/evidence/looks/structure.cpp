#include "evidence/looks/structure.hpp"

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/looks/findings.hpp"

namespace gputopo::evidence {

Statement decided(std::string value, std::string_view method, std::uint64_t samples, std::optional<double> confidence) {
  Statement s;
  s.value = std::move(value);
  s.status = Status::measured;
  s.method = method;
  s.confidence = confidence;
  s.samples = samples;
  return s;
}

Statement undecided(std::string_view method, std::string_view why) {
  Statement s;
  s.status = Status::inconclusive;
  s.method = method;
  s.note = why;
  return s;
}

Expected<void> or_undecided(Memory& memory, std::string_view name, std::string_view method, Expected<void> result) {
  if (result || result.error().kind != Error::Kind::unavailable) return result;
  memory.structure[std::string(name)] = undecided(method, result.error().message);
  return {};
}

void set_scope(Memory& memory, const SmSets& groups, std::string_view method, std::uint64_t samples,
               std::optional<double> confidence) {
  std::size_t sms = 0;
  for (const auto& group : groups) sms += group.size();
  memory.scope = groups.size() == sms ? Scope::sm : groups.size() == 1 ? Scope::gpu : Scope::group;
  if (*memory.scope == Scope::group) memory.sm_groups = groups;
  memory.structure["scope"] = decided(std::string(to_string(*memory.scope)), method, samples, confidence);
}

void state_sides(Memory& l2, std::size_t sides, const Estimate& far_latency, std::string_view method,
                 std::uint64_t samples) {
  l2.attributes["partitions"] = measured(static_cast<double>(sides), "", method, samples);
  l2.attributes["far_latency"] = far_latency;
  l2.structure["l2_sides"] = decided(fmt::format("{}", sides), method, samples);
}

void leave_scope_open(Memory& memory, std::string_view method, std::string_view why) {
  memory.scope.reset();
  memory.structure["scope"] = undecided(method, why);
}

std::optional<double> Findings::far_less_near_cycles() const {
  const Memory* l2 = topology.find("l2");
  if (!lines_have_sides || l2 == nullptr) return std::nullopt;
  const Estimate *near = l2->find("latency"), *far = l2->find("far_latency");
  if (near == nullptr || far == nullptr || !near->value || !far->value) return std::nullopt;
  return *far->value - *near->value;
}

Histogram Findings::brought_by_others() const {
  Histogram far;
  if (!beyond_own_l2 || !l2_sets) return far;
  for (const double cycles : l2_sets->far) add(far, static_cast<std::uint32_t>(cycles));
  return far;
}

bool Findings::may_lines_be_far() const {
  if (may_have_sides) return true;
  const Memory* l2 = topology.find("l2");
  if (l2 == nullptr || lines_have_sides || beyond_own_l2) return false;
  const Estimate* latency = l2->find("latency");
  if (latency != nullptr && latency->status == Status::not_supported) return false;
  const auto sides = l2->structure.find("l2_sides");  // none: nobody looked
  return sides == l2->structure.end() || sides->second.status == Status::inconclusive;
}

std::optional<std::uint64_t> Findings::near_l2_bytes(const device::DeviceInfo& info) const {
  constexpr double most_sides = 4;  // (docs/domain.md)
  const auto l2 = caches.find("l2");
  const Memory* memory = topology.find("l2");
  if (l2 == caches.end() || memory == nullptr) return 0;
  const Estimate* latency = memory->find("latency");
  if (latency != nullptr && latency->status == Status::not_supported) return std::nullopt;
  const std::uint64_t held = l2->second.capacity_bytes;
  auto near = static_cast<double>(held != 0 ? held : info.l2_bytes);
  const auto statement = memory->structure.find("l2_sides");
  const bool are_sides_known = statement != memory->structure.end() && statement->second.status == Status::measured;
  const Estimate* sides = memory->find("partitions");
  near /= sides != nullptr && sides->value ? *sides->value : are_sides_known ? 1 : most_sides;
  if (beyond_near_l2 && beyond_near_l2->near.value) near = std::min(near, *beyond_near_l2->near.value);
  return static_cast<std::uint64_t>(near);
}

void Findings::place_sms(const SmSets& by_side) {
  auto& places = topology.sm_places;
  places.resize(topology.gpu.sm_count);
  for (std::uint32_t sm = 0; sm < places.size(); ++sm) places[sm].sm = sm;
  for (std::uint32_t side = 0; side < by_side.size(); ++side)
    for (const std::uint32_t sm : by_side[side]) places[sm].l2_partition = side;
}

void Findings::state_sides_by_sets() {
  state_sides(memory("l2"), beyond_own_l2->sets, beyond_own_l2->latency, "first_loads", beyond_own_l2->samples);
  place_sms(l2_sets->sets);
}

}  // namespace gputopo::evidence
