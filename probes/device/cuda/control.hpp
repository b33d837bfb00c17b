// The control data of a launch: one block that goes up before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cuda/schedule.hpp"
#include "kernels/chase_abi.hpp"

namespace gputopo::device::cuda {

/// Offsets into the block: turn counter, claims, queues, tasks.
struct ControlLayout {
  ControlLayout(std::uint32_t queue_count, std::size_t task_count);
  std::size_t counter, claims, queues, tasks, bytes;
};

/// Sorts the tasks into queues, one a module and SM, each in the launch's order, and writes both into `block`. A
/// program's tasks in one queue form groups that a thread block copies into shared memory at once; the first of them
/// opens the program there.
void write_control(const PlannedLaunch& launch, const std::vector<kernels::Task>& tasks, std::uint32_t sm_count,
                   const ControlLayout& layout, std::byte* block);

}  // namespace gputopo::device::cuda
