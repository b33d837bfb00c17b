#include "device/cuda/cuda_device.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/launch.hpp"
#include "device/cuda/placement_patience.hpp"
#include "device/cuda/query.hpp"
#include "device/cuda/schedule.hpp"
#include "device/cuda/stream_launcher.hpp"
#include "device/cuda/work_launcher.hpp"

namespace gputopo::device {
namespace cuda {
namespace {

// Pauses between attempts to place a launch grow: 0.6 s in all.
constexpr int placement_attempts = 12;
constexpr std::chrono::milliseconds first_pause{1};
constexpr std::chrono::milliseconds longest_pause{100};

class CudaDevice final : public Device {
 public:
  CudaDevice(Driver driver, DeviceInfo info, CUdevice device, GpuLockOptions lock)
      : driver_(std::move(driver)), info_(std::move(info)), device_(device), lock_options_(std::move(lock)) {}

  ~CudaDevice() override {
    launcher_.reset();
    streams_.reset();
    workloads_.reset();
    if (retained_) driver_.cuDevicePrimaryCtxRelease(device_);
  }

  // Its turn comes first: the driver clears memory for a context, by the L2 that another one measures.
  Expected<void> start() {
    lock_ = GpuLock::acquire(info_.gpu.uuid, lock_options_);
    CUcontext context = nullptr;
    if (const CUresult code = driver_.cuDevicePrimaryCtxRetain(&context, device_); code != CUDA_SUCCESS)
      return tl::unexpected<Error>(driver_.error(code, fmt::format("can't use {}", info_.gpu.name)));
    retained_ = true;
    if (const CUresult code = driver_.cuCtxSetCurrent(context); code != CUDA_SUCCESS)
      return tl::unexpected<Error>(driver_.error(code, fmt::format("can't use {}", info_.gpu.name)));
    auto launcher = Launcher::make(driver_, info_);
    if (!launcher) return tl::unexpected<Error>(launcher.error());
    launcher_ = std::move(*launcher);
    info_.kernels = launcher_->assembled() ? "ptx" : "machine_code";
    leave_room();
    return {};
  }

  const DeviceInfo& info() const override { return info_; }
  bool is_shared() const override { return is_shared_; }

  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    auto launches = plan(batch, info_.gpu.sm_count, info_.warps_per_block);
    if (!launches) return tl::unexpected<Error>(launches.error());
    std::vector<program::ProgramTrace> traces(batch.size());
    for (PlannedLaunch& launch : *launches) {
      auto ok = run_until_placed(batch, launch, traces);
      if (!ok && let_go_of_other_kinds()) ok = run_until_placed(batch, launch, traces);
      if (!ok) return tl::unexpected<Error>(ok.error());
    }
    return traces;
  }

  Expected<program::StreamTrace> run_stream(const program::Stream& stream) override {
    if (auto ok = program::validate(stream); !ok) return tl::unexpected<Error>(ok.error());
    if (streams_ == nullptr) streams_ = std::make_unique<StreamLauncher>(driver_, info_);
    return streams_->run(stream);
  }

  Expected<program::WorkloadTrace> run_workload(const program::Workload& workload) override {
    if (auto ok = program::validate(workload); !ok) return tl::unexpected<Error>(ok.error());
    if (workloads_ == nullptr) workloads_ = std::make_unique<WorkLauncher>(driver_, info_);
    return workloads_->run(workload);
  }

 private:
  // Streams and workloads keep their buffers for the next of their kind. A chase over nearly all of the memory fails
  // beside them, and may be tried again without. False where there was nothing to let go of.
  bool let_go_of_other_kinds() {
    const bool held_some = streams_ != nullptr || workloads_ != nullptr;
    streams_.reset();
    workloads_.reset();
    return held_some;
  }

  // Other processes keep what they have, and a sixteenth of the rest for what they may want meanwhile.
  void leave_room() {
    std::size_t free = 0, total = 0;
    if (driver_.cuMemGetInfo(&free, &total) == CUDA_SUCCESS)
      info_.largest_buffer_bytes = std::min<std::uint64_t>(info_.largest_buffer_bytes, free - free / 16);
  }

  Expected<void> run_until_placed(const program::Batch& batch, PlannedLaunch& launch,
                                  std::vector<program::ProgramTrace>& traces) {
    auto pause = first_pause;
    int attempts = 0;
    using Attempt = PlacementPatience::Attempt;
    const Attempt first = launch.crosses_sms ? Attempt::first_of_a_rendezvous : Attempt::first;
    for (; attempts < placement_attempts; ++attempts) {
      const auto begin = std::chrono::steady_clock::now();
      if (!patience_.allows(attempts == 0 ? first : Attempt::again, begin - opened_)) break;
      if (attempts != 0) {
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, longest_pause);
      }
      auto missing = launcher_->run(batch, launch, traces);
      if (!missing) return tl::unexpected<Error>(missing.error());
      if (attempts != 0 || !missing->empty()) patience_.add_in_vain(std::chrono::steady_clock::now() - begin);
      if (missing->empty()) return {};
      if (info_.may_run_beside_others) is_shared_ = true;
      // A chain runs as a whole; private programs only where they are missing.
      if (launch.crosses_sms) continue;
      const auto ran = [&](std::size_t program) {
        return std::find(missing->begin(), missing->end(), program) == missing->end();
      };
      std::erase_if(launch.phases, [&](const PlannedPhase& p) { return ran(p.program); });
      std::erase_if(launch.programs, ran);
    }
    const std::string tried = attempts == 0   ? "now, as for others before"
                              : attempts == 1 ? "in 1 attempt"
                                              : fmt::format("in {} attempts", attempts);
    return fail(
        Error::Kind::unavailable,
        fmt::format("couldn't place a thread block on every SM needed for '{}' {}; another process fills this GPU, as "
                    "under MPS: try again when it is done",
                    batch[launch.programs.front()].label, tried));
  }

  Driver driver_;
  DeviceInfo info_;
  CUdevice device_;
  GpuLockOptions lock_options_;
  std::shared_ptr<const GpuLock> lock_;
  bool retained_ = false;
  bool is_shared_ = false;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  PlacementPatience patience_;  ///< for SMs that others hold
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<StreamLauncher> streams_;  ///< from the first stream on
  std::unique_ptr<WorkLauncher> workloads_;  ///< from the first workload on
};

Expected<void> check_compute_mode(const Driver& driver, const DeviceInfo& info, CUdevice device) {
  int mode = CU_COMPUTEMODE_DEFAULT;
  driver.cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device);
  if (mode == CU_COMPUTEMODE_PROHIBITED)
    return fail(
        Error::Kind::unavailable,
        fmt::format("{} is in compute mode 'prohibited'; ask the administrator to set it to 'default'", info.gpu.name));
  return {};
}

}  // namespace
}  // namespace cuda

using cuda::CUDA_SUCCESS;
using cuda::CUdevice;
using cuda::CUresult;

Expected<std::unique_ptr<Device>> open_cuda(int ordinal, const cuda::GpuLockOptions& lock, const std::string& library) {
  auto driver = cuda::Driver::load(library);
  if (!driver) return tl::unexpected<Error>(driver.error());
  int count = 0;
  if (driver->cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
    return fail(Error::Kind::unavailable, "the NVIDIA driver sees no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES");
  auto info = cuda::query(*driver, ordinal);
  if (!info) return tl::unexpected<Error>(info.error());
  CUdevice device = 0;
  driver->cuDeviceGet(&device, ordinal);
  if (auto ok = cuda::check_compute_mode(*driver, *info, device); !ok) return tl::unexpected<Error>(ok.error());
  auto opened = std::make_unique<cuda::CudaDevice>(std::move(*driver), std::move(*info), device, lock);
  if (auto ok = opened->start(); !ok) return tl::unexpected<Error>(ok.error());
  return opened;
}

Expected<std::vector<DeviceInfo>> list_cuda(const std::string& library) {
  auto driver = cuda::Driver::load(library);
  if (!driver) return tl::unexpected<Error>(driver.error());
  int count = 0;
  if (const CUresult code = driver->cuDeviceGetCount(&count); code != CUDA_SUCCESS)
    return tl::unexpected<Error>(driver->error(code, "can't count the GPUs"));
  std::vector<DeviceInfo> list;
  for (int i = 0; i < count; ++i)
    if (auto info = cuda::query(*driver, i)) list.push_back(std::move(*info));
  return list;
}

}  // namespace gputopo::device
