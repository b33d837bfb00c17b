// Slices of the L2 against a counter that each of them has.
#pragma once

#include "counters/counter.hpp"
#include "evidence/looks/session.hpp"
#include "experiments/crosscheck/crosscheck.hpp"

namespace gputopo::experiments {

/// Finds the slices anew and adds to a line of each as often: none may carry out more than one line's. Adds an entry of
/// that and one of their number, or a note that says why there is none. Errors: those of Device::run_workload and
/// Counter.
Expected<void> check_slices(evidence::Session& session, counters::Counter& counter, CrossCheckReport& report);

}  // namespace gputopo::experiments
