// What clock and width allow.
#pragma once

#include <optional>
#include <string_view>

#include "device/device.hpp"
#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {

/// Device memory: both edges of its clock over its bus, B/s. Shared memory: what its banks hold, B/cycle and SM. The L1
/// of a real GPU: 4 bytes for each of a warp's lanes (Jia et al., arXiv 1804.06826, 2018). Nothing elsewhere.
std::optional<double> limit_of(std::string_view memory, const device::DeviceInfo& info,
                               const std::optional<Banks>& banks);

/// Adds the finding. One that is over its limit by more than clocks are read wrong (0.2 %) is an error of the
/// measurement, says so, and is inconclusive.
void add_bounded(Finding finding, Result& result);

}  // namespace gputopo::throughput
