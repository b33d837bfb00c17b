#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "device/cuda/launch.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::LaunchArguments;
using kernels::LaunchState;
using kernels::Queue;
using kernels::Result;
using kernels::Task;

// The one block of control data that goes up before a launch: state, turn counter, claims, queues, tasks.
struct ControlLayout {
  explicit ControlLayout(std::uint32_t queue_count, std::size_t task_count)
      : counter(64),
        claims(128),
        queues(align(claims + std::size_t{4} * queue_count)),
        tasks(align(queues + sizeof(Queue) * queue_count)),
        bytes(tasks + sizeof(Task) * task_count) {}
  static std::size_t align(std::size_t at) { return (at + 127) / 128 * 128; }
  std::size_t counter, claims, queues, tasks, bytes;
};

// Warps that must stay where every phase is a single thread's; 0 where some phase has several lanes.
std::uint32_t warps_alone(const std::vector<Task>& tasks) {
  std::uint32_t warps = 1;
  for (const Task& t : tasks) {
    if (t.lanes > 1) return 0;
    warps = std::max(warps, t.warp + 1);
  }
  return warps;
}

// Sorts the tasks into queues, one a module and SM, each in the launch's order. A program's tasks in one queue form
// groups that a block copies into shared memory at once.
void write_tasks(const PlannedLaunch& launch, const std::vector<Task>& tasks, std::uint32_t sm_count,
                 std::byte* queues_at, std::byte* tasks_at, CUdeviceptr counter) {
  const std::size_t queue_count = std::size_t{launch.modules} * sm_count;
  auto* queues = reinterpret_cast<Queue*>(queues_at);
  auto* out = reinterpret_cast<Task*>(tasks_at);
  const auto queue_of = [&](const PlannedPhase& p) { return std::size_t{p.module} * sm_count + p.sm; };
  for (const PlannedPhase& p : launch.phases) ++queues[queue_of(p)].count;
  for (std::size_t q = 1; q < queue_count; ++q) queues[q].first = queues[q - 1].first + queues[q - 1].count;
  std::vector<std::uint32_t> next(queue_count);
  for (std::size_t q = 0; q < queue_count; ++q) next[q] = queues[q].first;
  std::vector<std::pair<std::size_t, Task*>> open_group(queue_count,
                                                        {std::numeric_limits<std::size_t>::max(), nullptr});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const PlannedPhase& planned = launch.phases[i];
    const std::size_t queue = queue_of(planned);
    Task& task = out[next[queue]++];
    task = tasks[i];
    task.counter = counter;
    auto& [program, head] = open_group[queue];
    if (program != planned.program || head->group == kernels::task_slots) {
      program = planned.program;
      head = &task;
    }
    ++head->group;
  }
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

Expected<void> Launcher::submit(const PlannedLaunch& launch, const std::vector<Task>& tasks, CUtexObject texture,
                                std::uint64_t shared_bytes, std::size_t results, std::uint32_t blocks_used) {
  if (auto ok = prepare_modules(launch); !ok) return ok;
  const std::uint32_t sm_count = info_.gpu.sm_count;
  const ControlLayout layout(launch.modules * sm_count, tasks.size());
  if (control_.bytes() < layout.bytes) {
    control_ = Allocation();
    staging_ = HostAllocation();
    auto memory = Allocation::make(driver_, 2 * layout.bytes, "control data");
    if (!memory) return tl::unexpected<Error>(memory.error());
    control_ = std::move(*memory);
    auto host = HostAllocation::make(driver_, 2 * layout.bytes);
    if (!host) return tl::unexpected<Error>(host.error());
    staging_ = std::move(*host);
  }
  auto* bytes = static_cast<std::byte*>(staging_.data());
  std::memset(bytes, 0, layout.tasks);
  write_tasks(launch, tasks, sm_count, bytes + layout.queues, bytes + layout.tasks,
              control_.address() + layout.counter);
  LaunchArguments arguments{};
  // Device addresses are numbers to the driver and pointers to the kernel.
  // NOLINTBEGIN(performance-no-int-to-ptr)
  arguments.tasks = reinterpret_cast<const Task*>(control_.address() + layout.tasks);
  arguments.queues = reinterpret_cast<const Queue*>(control_.address() + layout.queues);
  arguments.claims = reinterpret_cast<std::uint32_t*>(control_.address() + layout.claims);
  arguments.state = reinterpret_cast<LaunchState*>(control_.address());
  // NOLINTEND(performance-no-int-to-ptr)
  arguments.queue_count = sm_count;
  arguments.texture = texture;
  arguments.lone_warps = warps_alone(tasks);
  arguments.rendezvous = launch.crosses_sms ? blocks_used : 0;
  const auto dynamic_bytes = static_cast<unsigned>(kernels::reserved_shared_bytes + shared_bytes);
  const std::size_t result_bytes = std::max<std::size_t>(1, results) * sizeof(Result);
  if (auto ok = check(driver_.cuMemcpyHtoDAsync(control_.address(), bytes, layout.bytes, stream_),
                      "sending tasks to the GPU failed");
      !ok)
    return ok;
  if (auto ok =
          check(driver_.cuMemsetD32Async(results_.address(), 0, result_bytes / 4, stream_), "clearing results failed");
      !ok)
    return ok;
  // Kernels on other streams must not start before their tasks are there.
  if (launch.modules > 1)
    if (auto ok = check(driver_.cuStreamSynchronize(stream_), "sending tasks to the GPU failed"); !ok) return ok;
  if (auto ok = start_kernels(launch, arguments, dynamic_bytes); !ok) return ok;
  for (std::uint32_t module = 1; module < launch.modules; ++module)
    if (auto ok = check(driver_.cuStreamSynchronize(side_streams_[module - 1]), "a measuring kernel failed"); !ok)
      return ok;
  if (auto ok = check(driver_.cuMemcpyDtoHAsync(results_host_.data(), results_.address(), result_bytes, stream_),
                      "reading results failed");
      !ok)
    return ok;
  return check(driver_.cuStreamSynchronize(stream_), "a measuring kernel failed");
}

}  // namespace gputopo::device::cuda
