#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "device/cuda/control.hpp"
#include "device/cuda/launch.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::LaunchArguments;
using kernels::LaunchState;
using kernels::Queue;
using kernels::Result;
using kernels::Task;

// Warps that must stay where every phase is a single thread's; 0 where some phase has several lanes.
std::uint32_t warps_alone(const std::vector<Task>& tasks) {
  std::uint32_t warps = 1;
  for (const Task& t : tasks) {
    if (t.lanes > 1) return 0;
    warps = std::max(warps, t.warp + 1);
  }
  return warps;
}

// Blocks that must be there before any starts: those with work, where they wait for each other.
std::uint32_t blocks_used(const PlannedLaunch& launch) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> blocks;  // (module, SM)
  for (const PlannedPhase& phase : launch.phases) blocks.insert({phase.module, phase.sm});
  return static_cast<std::uint32_t>(blocks.size());
}

LaunchArguments arguments_of(const PlannedLaunch& launch, const std::vector<Task>& tasks,
                             const LaunchAddresses& addresses, std::uint32_t sm_count) {
  const ControlLayout layout(launch.modules * sm_count, tasks.size());
  LaunchArguments arguments{};
  // Device addresses are numbers to the driver and pointers to the kernel.
  // NOLINTBEGIN(performance-no-int-to-ptr)
  arguments.tasks = reinterpret_cast<const Task*>(addresses.control + layout.tasks);
  arguments.queues = reinterpret_cast<const Queue*>(addresses.control + layout.queues);
  arguments.claims = reinterpret_cast<std::uint32_t*>(addresses.control + layout.claims);
  arguments.state = reinterpret_cast<LaunchState*>(addresses.state);
  // NOLINTEND(performance-no-int-to-ptr)
  arguments.queue_count = sm_count;
  if (launch.texture_slot) {
    const auto& textures = addresses.buffers.at(*launch.texture_slot).textures;
    if (const auto first = textures.find(0); first != textures.end()) arguments.texture = first->second;
  }
  arguments.lone_warps = warps_alone(tasks);
  arguments.rendezvous = launch.crosses_sms ? blocks_used(launch) : 0;
  return arguments;
}

}  // namespace

// Modules and streams are made while the GPU is idle: loading waits for running kernels, and those of one launch wait
// for each other.
Expected<void> Launcher::prepare_modules(const PlannedLaunch& launch) {
  for (std::uint32_t module = 0; module < launch.modules; ++module) {
    if (auto kernel = variant(launch.kernel, module); !kernel) return tl::unexpected<Error>(kernel.error());
    while (side_streams_.size() < module) {
      CUstream side = nullptr;
      if (auto ok = check(driver_.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING), "creating a stream failed"); !ok)
        return ok;
      side_streams_.push_back(side);
    }
  }
  return {};
}

// One kernel a module. A module by itself runs a block of full size on every SM; several run side by side as small
// blocks, many more than SMs, of which the first on each SM takes that SM's queue and the others leave.
Expected<void> Launcher::start_kernels(const PlannedLaunch& launch, const LaunchArguments& arguments,
                                       unsigned dynamic_bytes) {
  constexpr unsigned small_blocks_per_sm = 16;
  const bool alone = launch.modules == 1;
  const unsigned blocks = info_.gpu.sm_count * (alone ? 1 : small_blocks_per_sm);
  const unsigned threads = alone ? kernels::block_threads : kernels::warp_threads;
  // Side by side they need shared memory for several blocks; what that takes from L1 doesn't matter to constants.
  const int carve_out = alone ? static_cast<int>(launch.carve_out_percent) : 100;
  for (std::uint32_t module = 0; module < launch.modules; ++module) {
    auto kernel = variant(launch.kernel, module);
    if (!kernel) return tl::unexpected<Error>(kernel.error());
    LaunchArguments own = arguments;
    own.queues += std::size_t{module} * info_.gpu.sm_count;
    own.claims += std::size_t{module} * info_.gpu.sm_count;
    std::array<void*, 1> parameters{&own};
    const CUfunction function = (*kernel)->function;
    const std::array<std::pair<CUresult, const char*>, 2> before{{
        {driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carve_out),
         "asking for a carve-out failed"},
        {driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(dynamic_bytes)),
         "asking for shared memory failed"},
    }};
    for (const auto& [code, what] : before)
      if (auto ok = check(code, what); !ok) return ok;
    const CUstream stream = module == 0 ? stream_ : side_streams_[module - 1];
    if (auto ok = check(driver_.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, dynamic_bytes, stream,
                                               parameters.data(), nullptr),
                        "launching the kernel failed");
        !ok)
      return ok;
  }
  return {};
}

Expected<void> Launcher::submit(const program::Batch& batch, const PlannedLaunch& launch,
                                const std::vector<Task>& tasks, const LaunchAddresses& addresses,
                                const ResultSlots& slots) {
  if (auto ok = prepare_modules(launch); !ok) return ok;
  const ControlLayout layout(launch.modules * info_.gpu.sm_count, tasks.size());
  auto* block = static_cast<std::byte*>(staging_.data());
  write_control(launch, tasks, info_.gpu.sm_count, layout, block);
  const LaunchArguments arguments = arguments_of(launch, tasks, addresses, info_.gpu.sm_count);
  if (auto ok = check(driver_.cuMemcpyHtoDAsync(addresses.control, block, layout.bytes, stream_),
                      "sending tasks to the GPU failed");
      !ok)
    return ok;
  // Of the records their heads: what a head says is there was written.
  constexpr std::size_t heads = (sizeof(LaunchState) + offsetof(Result, data)) / 4;
  if (auto ok = check(driver_.cuMemsetD2D32Async(addresses.state, sizeof(Result), 0, heads, slots.rows(), stream_),
                      "clearing results failed");
      !ok)
    return ok;
  // Kernels on other streams must not start before their tasks are there.
  if (launch.modules > 1)
    if (auto ok = check(driver_.cuStreamSynchronize(stream_), "sending tasks to the GPU failed"); !ok) return ok;
  const std::uint64_t own_bytes = launch.kernel == Kernel::held_code ? kernels::held_code_shared_bytes
                                  : walks_code(launch.kernel)        ? kernels::code_shared_bytes
                                                                     : kernels::reserved_shared_bytes;
  const auto dynamic_bytes = static_cast<unsigned>(own_bytes + shared_bytes_of(batch, launch));
  if (auto ok = start_kernels(launch, arguments, dynamic_bytes); !ok) return ok;
  for (std::uint32_t module = 1; module < launch.modules; ++module)
    if (auto ok = check(driver_.cuStreamSynchronize(side_streams_[module - 1]), "a measuring kernel failed"); !ok)
      return ok;
  return fetch_results(addresses, slots);
}

// The LaunchState and what was written of each Result, which together come again every sizeof(Result): most write
// little of theirs, and what crosses the bus is a tenth. They lie as far apart as if they wrote all: closer, L1 lost
// some 40 lines now and then in every other SM of an H200.
Expected<void> Launcher::fetch_results(const LaunchAddresses& addresses, const ResultSlots& slots) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = addresses.state;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = records_host_.data();
  copy.srcPitch = sizeof(Result);
  copy.dstPitch = copy.WidthInBytes = slots.row_bytes();
  copy.Height = slots.rows();
  if (auto ok = check(driver_.cuMemcpy2DAsync(&copy, stream_), "reading results failed"); !ok) return ok;
  return check(driver_.cuStreamSynchronize(stream_), "a measuring kernel failed");
}

}  // namespace gputopo::device::cuda
