#include "topology/topology.hpp"

#include <algorithm>
#include <utility>

namespace gputopo {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 3> kind_names{
    {{Kind::cache, "cache"}, {Kind::scratchpad, "scratchpad"}, {Kind::memory, "memory"}}};

constexpr std::array<std::pair<Scope, std::string_view>, 7> scope_names{{{Scope::sm, "sm"},
                                                                         {Scope::tpc, "tpc"},
                                                                         {Scope::cpc, "cpc"},
                                                                         {Scope::gpc, "gpc"},
                                                                         {Scope::partition, "partition"},
                                                                         {Scope::gpu, "gpu"},
                                                                         {Scope::group, "group"}}};

template <class E, std::size_t N>
std::string_view name_of(const std::array<std::pair<E, std::string_view>, N>& names, E value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return name;
  return names.back().second;
}

template <class E, std::size_t N>
std::optional<E> value_of(const std::array<std::pair<E, std::string_view>, N>& names, std::string_view name) {
  for (const auto& [value, candidate] : names)
    if (candidate == name) return value;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Kind kind) {
  return name_of(kind_names, kind);
}
std::string_view to_string(Scope scope) {
  return name_of(scope_names, scope);
}
std::optional<Kind> parse_kind(std::string_view name) {
  return value_of(kind_names, name);
}
std::optional<Scope> parse_scope(std::string_view name) {
  return value_of(scope_names, name);
}

const Estimate* Memory::find(std::string_view attribute) const {
  const auto it = attributes.find(std::string(attribute));
  return it == attributes.end() ? nullptr : &it->second;
}

const Memory* Topology::find(std::string_view id) const {
  const auto it = std::find_if(memories.begin(), memories.end(), [&](const Memory& m) { return m.id == id; });
  return it == memories.end() ? nullptr : &*it;
}

Memory* Topology::find(std::string_view id) {
  return const_cast<Memory*>(std::as_const(*this).find(id));
}

const Provenance& Topology::run_of(const Memory& memory) const {
  const auto it = std::find_if(earlier_runs.begin(), earlier_runs.end(),
                               [&](const Provenance& run) { return run.created == memory.created; });
  return memory.created.empty() || it == earlier_runs.end() ? provenance : *it;
}

bool was_shared(const Provenance& provenance) {
  return !provenance.shared_gpu.empty() || (provenance.interruptions && provenance.interruptions->switches > 0);
}

std::optional<double> cycles_to_ns(double cycles, const Gpu& gpu) {
  const std::uint64_t khz = gpu.measured_clock_khz != 0 ? gpu.measured_clock_khz : gpu.clock_khz;
  if (khz == 0) return std::nullopt;
  return cycles * 1e6 / static_cast<double>(khz);
}

}  // namespace gputopo
