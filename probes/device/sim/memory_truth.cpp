// What is true of a model's device memory, in the words in which a deep discovery says it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "device/sim/distance.hpp"
#include "device/sim/model.hpp"
#include "device/sim/organisation_words.hpp"

namespace gputopo::sim {
namespace {

// The groups of SM 0, by Scope.
std::array<std::uint32_t, 6> groups_of_first_sm(const Model& m) {
  std::array<std::uint32_t, 6> group{};
  for (const Scope scope : {Scope::sm, Scope::tpc, Scope::cpc, Scope::gpc, Scope::partition, Scope::gpu}) {
    const SmSets sets = sm_groups(m, scope);
    for (std::uint32_t i = 0; i < sets.size(); ++i)
      if (std::count(sets[i].begin(), sets[i].end(), 0U) != 0) group[static_cast<std::size_t>(scope)] = i;
  }
  return group;
}

// What loads of many lines take from SM 0, ascending. Which ones are far follows from shares alone: homes and distances
// have nothing to do with each other.
std::vector<double> latencies_of_lines(const Model& m) {
  constexpr std::uint64_t lines = 1 << 14;
  const PathModel& path = *m.path(program::Path::global_l2_only);
  const Level& memory = path.back();
  const std::uint32_t homes = path.front().cache ? m.caches[*path.front().cache].partitions.count : 1;
  const Distances distances(m, groups_of_first_sm(m));
  std::vector<double> cycles;
  for (std::uint64_t line = 0; line < lines; ++line) {
    const bool is_far = mix(line) % homes != 0;
    cycles.push_back((is_far ? memory.far_latency_cycles : memory.latency_cycles) +
                     (distances.any() ? distances.cycles(line * m.distance.slice_bytes) : 0));
  }
  std::sort(cycles.begin(), cycles.end());
  return cycles;
}

void add_lines(const Model& m, Memory& memory) {
  const std::vector<double> cycles = latencies_of_lines(m);
  const auto at = [&](double share) {
    return cycles[static_cast<std::size_t>(share * static_cast<double>(cycles.size()))];
  };
  memory.attributes["latency_low"] = true_number(at(0.05), "cycles");
  memory.attributes["latency_middle"] = true_number(at(0.5), "cycles");
  memory.attributes["latency_high"] = true_number(at(0.95), "cycles");
  if (cycles.front() == cycles.back() && !m.rows) memory.structure["latency_by_line"] = true_text("alike");
}

void add_sums(const Topology& truth, Memory& memory) {
  const Estimate* latency = memory.find("latency");
  if (latency == nullptr || !latency->value) return;
  double sum = *latency->value;
  for (int level = 1; level <= 3; ++level) {
    const Memory* tlb = truth.find(fmt::format("tlb_l{}", level));
    if (tlb == nullptr) return;
    sum += *tlb->find("miss_penalty")->value;
    memory.attributes[fmt::format("latency_after_tlb_miss_{}", level)] = true_number(sum, "cycles");
  }
}

}  // namespace

void add_memory_patterns(const Model& model, Topology& truth) {
  Memory& memory = *truth.find("device_memory");
  const Level& first = model.path(program::Path::global_l2_only)->front();
  if (first.cache) {
    const CacheModel& l2 = model.caches[*first.cache];
    memory.structure["prefetch"] = true_text(l2.prefetch_lines == 0   ? "none"
                                             : l2.prefetch_after == 0 ? "next_line"
                                                                      : "stride");
  }
  memory.attributes["row_gain"] = true_number(model.rows ? model.rows->gain_cycles : 0, "cycles");
  add_lines(model, memory);
  add_sums(truth, memory);
  add_sums(truth, *truth.find("l2"));
}

}  // namespace gputopo::sim
