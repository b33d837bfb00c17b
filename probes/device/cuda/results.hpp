// From the kernel's Result records to traces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/cuda/schedule.hpp"
#include "kernels/chase_abi.hpp"
#include "program/program.hpp"

namespace gputopo::device::cuda {

/// Which phases of a launch write a Result, and where.
struct ResultSlots {
  std::vector<std::optional<std::size_t>> of_phase;  ///< by index into PlannedLaunch::phases
  std::size_t count = 0;
  std::size_t most_bytes = 0;  ///< of a Result that any of them writes, from its begin
  /// The LaunchState and the Results behind it, in rows as long as a Result: of the GPU's memory.
  std::size_t rows() const { return count + 1; }
  std::size_t record_bytes() const { return rows() * sizeof(kernels::Result); }
  /// The host has of each row what may have been written, and the next one right behind it.
  std::size_t host_bytes() const { return rows() * row_bytes(); }
  std::size_t row_bytes() const { return std::min(sizeof(kernels::LaunchState) + most_bytes, sizeof(kernels::Result)); }
};

/// What the kernel records for a walk: of few loads latencies, one by one, which are read sooner than bins. They have
/// 16 bits: what takes longer counts as 65,535 cycles.
program::Record recorded_as(const program::Walk& walk);

/// A Result for every phase that records, and for the last that a program has in a block, even if it records nothing:
/// so a program that found no block is noticed, and every block tells what it saw of the timer.
ResultSlots assign_results(const program::Batch& batch, const PlannedLaunch& launch);

/// What a launch left in memory: rows as ResultSlots counts them.
struct LaunchRecord {
  const kernels::LaunchState* state = nullptr;
  std::vector<kernels::Gap> gaps;  ///< those listed; fewer than state->gap_count where there was no room for more
};

/// Writes traces for the programs of `launch`. Gives the programs with a record that no block wrote.
std::vector<std::size_t> read_results(const program::Batch& batch, const PlannedLaunch& launch,
                                      const ResultSlots& slots, const LaunchRecord& record,
                                      std::vector<program::ProgramTrace>& traces);

}  // namespace gputopo::device::cuda
