// Which SMs have one L2? Those of one set (l2_sets.cpp), and those of all sets where these are its sides.
#include <algorithm>

#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

namespace {

constexpr std::string_view l2_scope_method = "hits_by_other_sms";

// Whether SMs that find lines sooner than from memory, but not near, have the same L2: on another side of it.
enum class Elsewhere { another_side, behind_it, unknown };

Elsewhere elsewhere_of(const CacheFacts& l2, const Memory& memory) {
  const auto has_sides = memory.structure.find("l2_sides");
  if (l2.next_level && has_sides != memory.structure.end() && has_sides->second.value == "1")
    return Elsewhere::behind_it;
  const Estimate* sides = memory.find("partitions");
  return sides != nullptr && sides->has_value() && *sides->value > 1 ? Elsewhere::another_side : Elsewhere::unknown;
}

}  // namespace

Expected<void> measure_l2_scope(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present || !findings.l2_sets) return {};
  const Findings::L2Sets& found = *findings.l2_sets;
  Memory& memory = findings.memory("l2");
  const Elsewhere elsewhere = elsewhere_of(*l2, memory);
  if (!found.why_open.empty()) {
    leave_scope_open(memory, l2_scope_method, found.why_open);
  } else if (session.info().gpu.sm_count == 1) {
    leave_scope_open(memory, l2_scope_method, "there is no other SM that might have it, too");
  } else if (found.shares && elsewhere == Elsewhere::unknown) {
    leave_scope_open(memory, l2_scope_method,
                     "whether SMs share it by its sides or a cache behind several isn't known");
  } else if (found.shares && elsewhere == Elsewhere::another_side) {
    SmSets all(1);
    for (const auto& set : found.sets) all[0].insert(all[0].end(), set.begin(), set.end());
    std::sort(all[0].begin(), all[0].end());
    set_scope(memory, all, l2_scope_method, found.samples);
  } else {
    set_scope(memory, found.sets, l2_scope_method, found.samples);
  }
  return {};
}

}  // namespace gputopo::experiments
