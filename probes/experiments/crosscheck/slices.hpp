// Slices of the L2 by distance against a counter that each slice has.
#pragma once

#include <cstdint>

#include "counters/counter.hpp"
#include "counters/metrics.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"
#include "experiments/crosscheck/crosscheck.hpp"

namespace gputopo::experiments {

/// Walks a line of each place that timing tells apart, each as often, from one SM: no slice may serve more loads than
/// one line's. Another line of each place then, some times. And there can't be more places than slices. Adds one entry
/// a walk and one of their number, or a note that says why there is none. Errors: those of Device::run and Counter.
Expected<void> check_slices(evidence::Session& session, counters::Counter& counter, const counters::Chip& chip,
                            const evidence::Findings::L2Sets& sets, std::uint64_t line_bytes, CrossCheckReport& report);

}  // namespace gputopo::experiments
