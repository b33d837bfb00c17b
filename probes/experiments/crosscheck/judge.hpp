// From counted launches to verdicts.
#pragma once

#include <string>
#include <vector>

#include "counters/metrics.hpp"
#include "evidence/inference/counts.hpp"
#include "experiments/crosscheck/counted.hpp"
#include "experiments/crosscheck/crosscheck.hpp"
#include "experiments/crosscheck/plan.hpp"

namespace gputopo::experiments {

/// A memory that is checked.
struct Subject {
  std::string memory;
  counters::MemoryMetrics metrics;
  double threshold_cycles = 0;            ///< a timed load at or above it missed
  evidence::Contamination contamination;  ///< of that threshold
  double units_a_miss = 1;                ///< what the counter adds for one miss: for device memory, sectors
  double tolerance = 0;                   ///< share of the loads' traffic by which timing and counter may differ
  double own_misses_a_lap = 0;            ///< of the walking kernel's own code at most, which no load waits for
  std::uint64_t line_bytes = 0;           ///< change points further apart than this differ
  std::vector<PlannedCheck> plan;
};

/// Adds the verdicts on `runs`, which belong to `subject.plan` one by one. What a launch counts beyond its loads is
/// known from those of the plan that are empty, and subtracted; the plan's first is left out.
void judge(const Subject& subject, const std::vector<CountedRun>& runs, CrossCheckReport& report);

}  // namespace gputopo::experiments
