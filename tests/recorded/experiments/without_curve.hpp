// Which of a discovery's quantities nobody can see the deciding curve of.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "topology/evidence.hpp"
#include "topology/topology.hpp"

namespace gputopo::test {

/// Quantities that are read off another one's curve: counts of what its groups are, or the same number in another unit.
inline std::string read_off(const std::string& quantity) {
  static const std::map<std::string, std::string> others{
      {"measured_size", "size"},
      {"partition_size", "size"},
      {"entries", "size"},
      {"far_latency", "l2_sides"},
      {"partitions", "l2_sides"},
      {"instances", "scope"},
      {"ways", "sets"},
      {"consecutive_lines", "sets"},
      {"index", "sets"},
      {"latency_low", "latency_by_line"},
      {"latency_middle", "latency_by_line"},
      {"latency_high", "latency_by_line"},
      {"latency_excess", "latency_by_line"},
  };
  const auto other = others.find(quantity);
  return other == others.end() ? quantity : other->second;
}

/// "l1.size" for each quantity that experiments decided and that no curve is of.
inline std::vector<std::string> without_curve(const Topology& t, const std::vector<DecidingCurve>& curves) {
  std::vector<std::string> missing;
  const auto need = [&](const Memory& m, const std::string& quantity, Status status, const std::string& method) {
    const bool is_found = status == Status::measured || status == Status::lower_bound || status == Status::upper_bound;
    // Of a line of constants no more is known than what one miss brings in; of code, whether constants lie in it, too.
    std::string of = quantity == "line_size" && method == "cold_misses" ? "sector_size" : read_off(quantity);
    if (quantity == "physical_cache" && m.id.starts_with("instruction_")) of = "constants";
    const bool has = std::any_of(curves.begin(), curves.end(), [&](const DecidingCurve& c) {
      return c.memory == m.id && c.quantity == of && !c.series.empty() && !c.source.empty();
    });
    if (is_found && !has) missing.push_back(m.id + "." + quantity);
  };
  for (const Memory& m : t.memories) {
    for (const auto& [name, e] : m.attributes) need(m, name, e.status, e.method);
    for (const auto& [name, s] : m.structure) {
      // The first of several caches stands for itself: what is compared with it has the curve.
      const bool stands_for_itself = name == "physical_cache" && s.value == m.id;
      // A set of one way has nothing to choose: that its ways are one is what decides.
      const bool has_no_choice = name == "replacement" && s.value == "none";
      if (!stands_for_itself) need(m, has_no_choice ? "ways" : name, s.status, s.method);
    }
    if (!m.carve_outs.empty()) need(m, "carve_outs", Status::measured, {});
  }
  return missing;
}

}  // namespace gputopo::test
