// Programs that run while hardware counters count.
#pragma once

#include <vector>

#include "counters/counter.hpp"
#include "experiments/session.hpp"

namespace gputopo::experiments {

/// One program's launch as timing saw it and as the counters saw it.
struct CountedRun {
  program::ProgramTrace trace;
  counters::Values values;
};

/// Runs every program in a launch of its own, in order, and counts `metrics` in each. Errors: those of Device::run and
/// Counter; `device` where launches and counts can't be matched even after several attempts.
Expected<std::vector<CountedRun>> run_counted(Session& session, counters::Counter& counter,
                                              const counters::Metrics& metrics, const program::Batch& programs);

}  // namespace gputopo::experiments
