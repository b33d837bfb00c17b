// How long a workload takes on a modelled GPU, but for those that rest on streams.
#pragma once

#include <optional>

#include "device/sim/model.hpp"
#include "program/workload.hpp"

namespace gputopo::sim {

/// SM cycles; what the kernel writes, and what the compiler says of it, goes into `trace`, whose output has room for
/// it. Nothing where the model doesn't say.
std::optional<double> work_cycles(const Model& model, const ThroughputModel& t, const program::Workload& workload,
                                  program::WorkloadTrace& trace);

/// The slice of an L2 that a workload's line of 128 B lies in, of a model that says how many there are.
std::uint64_t slice_of_line(const ThroughputModel& throughput, std::uint64_t line);

/// The same of chases over lines of an L2's sides, which are in it, or only in memory (`cold`).
std::optional<double> chase_cycles(const Model& model, const ThroughputModel& t, const program::Workload& workload,
                                   bool cold);

}  // namespace gputopo::sim
