// Slices of an L2: parts that carry out atomics at the same time, each its own lines' one after another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "throughput/meter.hpp"

namespace gputopo::throughput {

struct Slices {
  std::vector<std::uint32_t> line_of;  ///< a line of each slice that was found, by number, of the workloads' buffer
  std::vector<std::size_t> of_line;    ///< the slice of each of the first lines; `line_of.size()` where it isn't clear
  std::uint64_t drawn = 0;             ///< lines that were asked for their slice
  double chance_of_more = 1;           ///< that one of half the usual share of lines was never drawn
  std::string why_open;                ///< empty where slices were told apart
};

/// All SMs add to two lines: of one slice that takes as long as adding twice as often to one, of two as long as to one.
/// Lines are drawn until slices would hardly be missing; then the first `mapped_lines` are asked which they lie in.
/// Errors: Device::run_workload's, and `interrupted`.
Expected<Slices> find_slices(Meter& meter, std::uint64_t seed, std::uint64_t mapped_lines);

/// All SMs add as often to each of `lines`, of which there may be 384.
program::Workload adding_to(const device::DeviceInfo& info, const std::vector<std::uint32_t>& lines);

inline constexpr std::uint64_t sliced_line_bytes = 128;

}  // namespace gputopo::throughput
