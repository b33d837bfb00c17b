// From the kernel's Result records to traces.
#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/schedule.hpp"
#include "kernels/chase_abi.hpp"
#include "program/program.hpp"

namespace gputopo::device::cuda {

/// Writes traces for the programs of `launch`; `result_of[i]` is the record of phase i, or the largest size_t. Gives
/// the programs with a record that no block wrote.
std::vector<std::size_t> read_results(const program::Batch& batch, const PlannedLaunch& launch,
                                      const std::vector<std::size_t>& result_of, const kernels::Result* results,
                                      std::vector<program::ProgramTrace>& traces);

}  // namespace gputopo::device::cuda
