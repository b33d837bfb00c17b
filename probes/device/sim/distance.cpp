#include "device/sim/distance.hpp"

#include <algorithm>

namespace gputopo::sim {

Distances::Distances(const Model& model, const std::array<std::uint32_t, 6>& group)
    : by_slice_(model.distance.slice_bytes),
      by_sides_(std::max<std::size_t>(1, model.groups.partition.size())),
      side_(group[static_cast<std::size_t>(Scope::partition)]),
      side_cycles_(model.distance.partition_cycles),
      count_(model.distance.slice_count) {
  const DistanceModel& d = model.distance;
  const auto add = [&](Scope scope, double amplitude, std::uint32_t steps) {
    const auto s = static_cast<std::size_t>(scope);
    if (amplitude != 0) terms_.push_back({amplitude, std::uint64_t{group[s]} << 8 | s, steps});
  };
  add(Scope::gpc, d.gpc_cycles, 0);
  add(Scope::cpc, d.cpc_cycles, 0);
  add(Scope::tpc, d.tpc_cycles, 0);
  add(Scope::sm, d.sm_cycles, d.steps);
  add(Scope::gpu, d.slice_cycles, d.steps);
}

double largest_distance_cycles(const DistanceModel& d) {
  return d.partition_cycles + d.gpc_cycles + d.cpc_cycles + d.tpc_cycles + d.sm_cycles + d.slice_cycles;
}

}  // namespace gputopo::sim
