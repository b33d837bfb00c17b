// What interrupted a program, from what its blocks saw of the timer. Pure arithmetic: no GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/chase_abi.hpp"
#include "program/program.hpp"

namespace gputopo::device::cuda {

/// A program in one block: from its first load there to the end of one of its later phases.
struct Stint {
  std::uint32_t sm = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t begin_clock = 0;
  std::uint64_t end_clock = 0;
};

/// Counts `gaps`, seen by the blocks of the program's SMs, that lie between its first load and its last, wherever those
/// were: a block that waits for its turn watches too. The GPU stops all SMs together: gaps that overlap are one switch.
program::Interruptions interruptions_of(const std::vector<Stint>& stints, const std::vector<kernels::Gap>& gaps);

}  // namespace gputopo::device::cuda
