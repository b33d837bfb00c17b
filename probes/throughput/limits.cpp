#include "throughput/limits.hpp"

#include <fmt/format.h>

namespace gputopo::throughput {

std::optional<double> limit_of(std::string_view memory, const device::DeviceInfo& info,
                               const std::optional<Banks>& banks) {
  const Gpu& gpu = info.gpu;
  if (memory == "device_memory" && gpu.memory_clock_khz != 0 && gpu.memory_bus_bits != 0)
    return static_cast<double>(gpu.memory_clock_khz) * 1e3 * 2 * gpu.memory_bus_bits / 8;
  if (memory == "shared" && banks) return static_cast<double>(banks->row_bytes);
  if (memory == "l1" && !info.simulated) return 4.0 * program::warp_lanes;
  return std::nullopt;
}

void add_bounded(Finding finding, Result& result) {
  constexpr double clock_error = 0.002;
  Estimate& e = finding.estimate;
  if (finding.limit && e.value && *e.value > *finding.limit * (1 + clock_error)) {
    e.status = Status::inconclusive;
    e.note = fmt::format("measured {:.6g} {}, above the {:.6g} that clock and width allow: an error of the measurement",
                         *e.value, e.unit, *finding.limit);
    e.value.reset();
    e.interval.reset();
  }
  result.findings.push_back(std::move(finding));
}

}  // namespace gputopo::throughput
