// Small topologies to compare.
#pragma once

#include <algorithm>
#include <string>

#include "compare/comparison.hpp"

namespace gputopo::compare {

inline Estimate measured(double value, std::string unit, Interval interval) {
  Estimate e;
  e.value = value;
  e.unit = std::move(unit);
  e.status = Status::measured;
  e.interval = interval;
  return e;
}

/// Four SMs on two sides of an L2 of 1 MiB with a latency of 280 +- 2 cycles.
inline Topology sample() {
  Topology t;
  t.gpu.name = "NVIDIA Sample";
  t.gpu.compute_capability = "9.0";
  t.gpu.sm_count = 4;
  t.provenance.device = "cuda";
  t.provenance.driver_version = "580.1";
  Memory l2;
  l2.id = "l2";
  l2.label = "L2 cache";
  l2.scope = Scope::gpu;
  l2.attributes["size"] = measured(1048576, "B", {1048576, 1048576});
  l2.attributes["latency"] = measured(280, "cycles", {278, 282});
  t.memories.push_back(l2);
  for (std::uint32_t sm = 0; sm < 4; ++sm) t.sm_places.push_back({sm, {}, {}, {}, sm / 2});
  return t;
}

inline const Difference* difference_of(const Comparison& comparison, const std::string& key) {
  const auto it = std::find_if(comparison.differences.begin(), comparison.differences.end(),
                               [&](const Difference& d) { return d.key == key; });
  return it == comparison.differences.end() ? nullptr : &*it;
}

}  // namespace gputopo::compare
