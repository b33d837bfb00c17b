// Runs workloads: buffers and words, one launch, the blocks' times.
#pragma once

#include <array>
#include <optional>

#include "device/cuda/driver.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/module.hpp"
#include "device/device.hpp"
#include "kernels/work_abi.hpp"
#include "program/workload.hpp"

namespace gputopo::device::cuda {

/// Owns a module, a stream and buffers of the current context. `driver` and `info` must outlive it.
class WorkLauncher {
 public:
  WorkLauncher(const Driver& driver, const DeviceInfo& info) : driver_(driver), info_(info), module_(driver) {}
  WorkLauncher(const WorkLauncher&) = delete;
  WorkLauncher& operator=(const WorkLauncher&) = delete;
  /// The L2 fetches again as the driver had it.
  ~WorkLauncher();

  /// `workload` must be valid. Errors as Device::run_workload's.
  Expected<program::WorkloadTrace> run(const program::Workload& workload);

 private:
  Expected<void> check(CUresult code, const char* what) const;
  Expected<void> start();
  Expected<void> fetch_by(std::size_t bytes);
  Expected<void> grow(Allocation& memory, std::uint64_t bytes);
  Expected<kernels::WorkArguments> prepare(const program::Workload& workload);
  Expected<void> launch(CUfunction kernel, const program::Workload& workload, kernels::WorkArguments arguments);
  Expected<program::WorkloadTrace> collect(CUfunction kernel, const program::Workload& workload);

  const Driver& driver_;
  const DeviceInfo& info_;
  Module module_;
  CUstream stream_ = nullptr;
  std::array<Allocation, 3> buffers_;
  Allocation words_;  ///< 256 bytes of sink, then the input, the output, and one StreamBlock a block
  HostAllocation host_;
  std::optional<std::size_t> usual_fetch_;  ///< as the driver had it; nothing where it never had another
};

}  // namespace gputopo::device::cuda
