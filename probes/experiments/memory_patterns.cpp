// Latency of every combination of a hit or a miss in the L2 and in the TLBs (Mei and Chu 2017, section 5.2), from what
// was measured of each: a load asks the TLBs before the cache, so that what a miss there takes is added.
#include <array>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::array<std::string_view, 3> asked_tlbs{"tlb_l1", "tlb_l2", "tlb_l3"};

// Penalties of the TLBs up to the first that has none, the nearest first.
std::vector<Estimate> known_penalties(const Topology& topology) {
  std::vector<Estimate> known;
  for (const std::string_view id : asked_tlbs) {
    const Memory* tlb = topology.find(id);
    const Estimate* penalty = tlb == nullptr ? nullptr : tlb->find("miss_penalty");
    if (penalty == nullptr || !is_usable(*penalty)) break;
    known.push_back(*penalty);
  }
  return known;
}

// Errors of parts that were measured apart: their intervals' ends add.
Estimate sum_of(const Estimate& a, const Estimate& b) {
  const auto range = [](const Estimate& e) { return e.interval.value_or(Interval{*e.value, *e.value}); };
  Estimate e = measured(*a.value + *b.value, "cycles", "sum", a.samples + b.samples);
  e.interval = Interval{range(a).low + range(b).low, range(a).high + range(b).high};
  return e;
}

}  // namespace

Expected<void> measure_memory_patterns(Session& session, Findings& findings) {
  const std::vector<Estimate> penalties = known_penalties(findings.topology);
  for (const char* id : {"l2", "device_memory"}) {
    Memory* memory = findings.topology.find(id);
    const Estimate* latency = memory == nullptr ? nullptr : memory->find("latency");
    if (latency == nullptr || !is_usable(*latency)) continue;
    Series series{"latency, and the penalty of each TLB that misses", {{0, *latency->value}}};
    Estimate sum = *latency;
    for (std::size_t level = 1; level <= penalties.size(); ++level) {
      sum = sum_of(sum, penalties[level - 1]);
      sum.note = level == 1 ? "the nearest TLB misses" : fmt::format("the nearest {} TLBs miss", level);
      const std::string name = fmt::format("latency_after_tlb_miss_{}", level);
      memory->attributes[name] = sum;
      series.points.emplace_back(static_cast<double>(level), *sum.value);
      DecidingCurve curve = make_curve(id, name, {"levels of TLBs that miss", "", false}, {"latency", "cycles", false});
      curve.series = {series};
      session.keep(std::move(curve));
    }
  }
  return {};
}

}  // namespace gputopo::experiments
