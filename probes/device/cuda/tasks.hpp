// From programs to what the kernel is told. Nothing here touches the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cuda/buffers.hpp"
#include "device/cuda/results.hpp"
#include "device/cuda/schedule.hpp"
#include "device/device.hpp"
#include "kernels/chase_abi.hpp"

namespace gputopo::device::cuda {

/// `bad_input` where a program asks for what this GPU doesn't have or one launch can't count.
Expected<void> check(const program::Batch& batch, const PlannedLaunch& launch, const DeviceInfo& info);

/// What every slot must hold, over all programs of the launch.
BufferNeeds needs_of(const program::Batch& batch, const PlannedLaunch& launch, const DeviceInfo& info);

/// Shared memory for the largest of the launch's programs, besides what the kernel itself needs.
std::uint64_t shared_bytes_of(const program::Batch& batch, const PlannedLaunch& launch);

/// Addresses of a launch, taken when everything had its size.
struct LaunchAddresses {
  ReadyBuffers buffers;
  CUdeviceptr control = 0;
  CUdeviceptr gaps = 0;  ///< then, one behind the other: LaunchState, Results
  CUdeviceptr state = 0;
  CUdeviceptr results = 0;
};

/// A task for each phase of the launch, which must have passed the check.
std::vector<kernels::Task> make_tasks(const program::Batch& batch, const PlannedLaunch& launch, const DeviceInfo& info,
                                      const ResultSlots& slots, const LaunchAddresses& addresses);

}  // namespace gputopo::device::cuda
