// The constant L1.5 past one module's 64 KiB: several modules, each with a bank of its own, walk in turn on one SM.
#pragma once

#include "change_point/finding.hpp"
#include "experiments/constant_l1_5.hpp"
#include "experiments/session.hpp"

namespace gputopo::experiments {

/// Footprints that fill one module's bank after the other; a lap walks every module's part in turn. `lower_bound` where
/// the banks of all modules that can run side by side still fit.
Expected<change_point::Finding> measure_constant_modules(Session& session, const ConstantL15& cache);

}  // namespace gputopo::experiments
