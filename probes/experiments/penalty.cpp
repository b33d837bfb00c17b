// Miss penalty: the latency of the level behind on the same path, less the own one, like with like: near with near
// where the level behind has sides, all of it where it hasn't.
#include "evidence/estimates.hpp"
#include "evidence/latency.hpp"
#include "evidence/modes.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

Expected<void> measure_penalty(Session& /*session*/, Findings& findings, const CachePath& path) {
  CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  const Histogram misses = between(cache->levels.next, cache->levels.threshold_cycles, 1e9);
  Estimate& penalty = findings.memory(path.id).attributes["miss_penalty"];
  if (total(misses) < 8) {
    penalty = inconclusive("cycles", "miss_latency", "too few loads that miss were seen");
    return {};
  }
  // Constants come from a level right behind or, where that lost them, from one further on.
  const bool nearest = findings.lines_have_sides || path.slot == slot_constant;
  const Mode next = nearest ? lowest_mode(misses) : whole_mode(misses);
  penalty = penalty_of(next, cache->latency_cycles + cache->overhead_cycles, total(misses));
  return {};
}

namespace {

// A cache behind shows as slower hits of footprints that the measured size holds.
bool is_next_level_known(const CacheFacts& l2, const Memory& memory) {
  if (l2.next_level) return true;
  for (const char* name : {"measured_size", "size"})
    if (const Estimate* size = memory.find(name)) return size->status == Status::measured;
  return false;
}

}  // namespace

// Memory behind an L2 with sides is as near or far as the line's home: the mean of all against the mean of all would
// need far hits in the same mixture, so what a near hit has is held against memory as a whole.
Expected<void> measure_l2_penalty(Session& /*session*/, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  const CacheFacts* memory = findings.cache("device_memory");
  if (l2 == nullptr || !l2->present || memory == nullptr) return {};
  const Estimate& own = findings.memory("l2").attributes["latency"];
  const Estimate& next = findings.memory("device_memory").attributes["latency"];
  Estimate& penalty = findings.memory("l2").attributes["miss_penalty"];
  if (!is_usable(own) || !is_usable(next) || !own.interval || !next.interval) {
    penalty = inconclusive("cycles", "difference", "needs both latencies");
    return {};
  }
  if (!is_next_level_known(*l2, findings.memory("l2"))) {
    penalty = inconclusive("cycles", "difference", "whether memory is right behind it isn't known");
    return {};
  }
  if (l2->next_level) {
    penalty = penalty_of(*l2->next_level, *own.value + l2->overhead_cycles, own.samples);
    return {};
  }
  penalty = measured(*next.value - *own.value, "cycles", "difference", next.samples);
  penalty.interval = Interval{next.interval->low - own.interval->high, next.interval->high - own.interval->low};
  return {};
}

}  // namespace gputopo::experiments
