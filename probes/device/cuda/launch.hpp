// One kernel launch: tasks up, kernel, results down.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/buffers.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/images.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/results.hpp"
#include "device/cuda/schedule.hpp"
#include "device/cuda/tasks.hpp"
#include "device/device.hpp"
#include "kernels/chase_abi.hpp"

namespace gputopo::device::cuda {

/// Owns modules, stream and buffers of one context. `driver` and `info` must outlive it.
class Launcher {
 public:
  static Expected<std::unique_ptr<Launcher>> make(const Driver& driver, const DeviceInfo& info);
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  /// Whether the driver assembled the kernels from PTX; they are nvcc's machine code otherwise.
  bool assembled() const { return assembled_; }

  /// Runs a launch and writes the traces of its programs. Gives the programs that didn't run because no block came to
  /// lie on their SM. `device` errors are sticky: the context is lost.
  Expected<std::vector<std::size_t>> run(const program::Batch& batch, const PlannedLaunch& launch,
                                         std::vector<program::ProgramTrace>& traces);

 private:
  struct Variant {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr bank = 0;
  };

  Launcher(const Driver& driver, const DeviceInfo& info) : driver_(driver), info_(info) {}
  Expected<void> start();
  Expected<const Variant*> variant(Kernel kernel, std::uint32_t module = 0);
  Expected<void> load(Variant& kernel, const Image& image);
  Expected<void> load_now(const Variant& kernel);
  /// Sizes everything that the launch uses; only what this gives has addresses.
  Expected<LaunchAddresses> prepare(const program::Batch& batch, const PlannedLaunch& launch, const ResultSlots& slots);
  Expected<void> lay_chases(const program::Batch& batch, const PlannedLaunch& launch, const ReadyBuffers& buffers);
  Expected<void> lay_in_memory(const program::Walk& walk, CUdeviceptr address);
  Expected<void> lay_in_banks(const PlannedLaunch& launch,
                              const std::map<std::uint32_t, std::vector<const program::Walk*>>& banks);
  Expected<void> submit(const program::Batch& batch, const PlannedLaunch& launch,
                        const std::vector<kernels::Task>& tasks, const LaunchAddresses& addresses,
                        const ResultSlots& slots);
  Expected<void> fetch_results(const LaunchAddresses& addresses, const ResultSlots& slots);
  Expected<LaunchRecord> fetch_gaps(const LaunchAddresses& addresses);
  Expected<void> prepare_modules(const PlannedLaunch& launch);
  Expected<void> start_kernels(const PlannedLaunch& launch, const kernels::LaunchArguments& arguments,
                               unsigned dynamic_bytes);
  Expected<void> check(CUresult code, const char* what) const;

  const Driver& driver_;
  const DeviceInfo& info_;
  CUstream stream_ = nullptr;
  std::map<std::pair<Kernel, std::uint32_t>, Variant> variants_;  ///< by kernel and module
  std::vector<CUstream> side_streams_;                            ///< of modules 1 and up
  CUfunction fill_ = nullptr;
  std::unique_ptr<Buffers> buffers_;
  bool assembled_ = false;
  Allocation control_;
  HostAllocation staging_;
  Allocation records_;           ///< gaps, LaunchState, Results
  HostAllocation records_host_;  ///< LaunchState, Results
};

}  // namespace gputopo::device::cuda
