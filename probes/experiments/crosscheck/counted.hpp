// Launches while hardware counters count.
#pragma once

#include <vector>

#include "counters/counter.hpp"
#include "evidence/looks/session.hpp"
#include "experiments/crosscheck/plan.hpp"

namespace gputopo::experiments {

/// One launch as timing saw it and as the counters saw it.
struct CountedRun {
  std::vector<program::ProgramTrace> traces;  ///< of its programs
  counters::Values values;
};

/// Runs everything planned, in order, and counts `metrics` in each `launch`, not in what runs before it. Errors: those
/// of Device::run and Counter; `device` where launches and counts can't be matched even after several attempts.
Expected<std::vector<CountedRun>> run_counted(Session& session, counters::Counter& counter,
                                              const counters::Metrics& metrics, const std::vector<PlannedCheck>& plan);

}  // namespace gputopo::experiments
