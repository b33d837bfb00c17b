// Constant banks of several modules, each walked by a kernel of its module when its turn comes.
//
// As small as can be: side by side, several copies of the interpreter push constants out of the cache that serves both
// constants and instructions. On an H200 its constant L1.5 seemed full at 72 KiB; with this kernel not one of 128 KiB
// of constants misses, and every line more does.
#include "kernels/loads.cuh"
#include "kernels/turns.cuh"

namespace gputopo::kernels {
namespace {

// Timed throughout, counted or not: one loop is less code than two.
__device__ __forceinline__ void walk_bank(const Task& task, std::uint32_t zero, std::uint32_t* bins, Seen& seen) {
  auto* const result = reinterpret_cast<Result*>(task.result);
  std::uint32_t overflow_count = 0;
  std::uint32_t position = task.first_position;
  const std::uint32_t loads = task.loads * task.laps;
#pragma unroll 1
  for (std::uint32_t k = 0; k < loads; ++k) {
    if (k % stretch_loads == 0) glance(seen);
    const std::uint32_t word = static_cast<std::uint32_t>(task.first_byte / 4) + position * task.stride_words;
    const std::uint32_t begin = read_clock();
    consume(load<path_constant>({word + opaque_zero(begin, zero), 0}));
    const std::uint32_t cycles = read_clock() - begin;
    if (result == nullptr) {
    } else if (cycles < histogram_bins) {
      ++bins[cycles];
    } else {
      if (overflow_count < overflow_entries) __stcg(&result->overflow[overflow_count], cycles);
      ++overflow_count;
    }
    // As next_position, with a branch less.
    const std::uint32_t room = task.positions - position;
    position = task.step >= room ? task.step - room : position + task.step;
  }
  look(seen);
  if (result == nullptr) return;
  write_stint(result, seen);
  __stcg(&result->loads, loads);
  __stcg(&result->sm, read_sm());
  __stcg(&result->overflow_count, overflow_count);
  __stcg(&result->done, 1U);
  auto* const to = reinterpret_cast<uint4*>(result->data);
#pragma unroll 1
  for (std::uint32_t k = 0; k < histogram_bins / 4; ++k) __stcg(to + k, reinterpret_cast<const uint4*>(bins)[k]);
}

// The kernel's parameters by way of memory, so that the compiler forgets where they came from. It would read them again
// in every loop that waits, and only in blocks that come that far: constant loads in numbers that nobody asked for.
__device__ __forceinline__ LaunchArguments remembered(const LaunchArguments& arguments, std::uint32_t* memory) {
  constexpr std::uint32_t words = sizeof(LaunchArguments) / 4;
  auto* const between = static_cast<volatile std::uint32_t*>(memory);
  LaunchArguments copy;
#pragma unroll
  for (std::uint32_t k = 0; k < words; ++k) between[k] = reinterpret_cast<const std::uint32_t*>(&arguments)[k];
#pragma unroll
  for (std::uint32_t k = 0; k < words; ++k) reinterpret_cast<std::uint32_t*>(&copy)[k] = between[k];
  return copy;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(warp_threads, 1) chase_banks(const LaunchArguments parameters) {
  extern __shared__ std::uint32_t bins[];
  __shared__ Seen seen;
  if (threadIdx.x != 0) return;
  const LaunchArguments arguments = remembered(parameters, bins);
  const std::uint32_t sm = read_sm();
  if (sm >= arguments.queue_count) return;
  LaunchState* const state = arguments.state;
  const Queue* const queue = arguments.queues + sm;
  const std::uint32_t first = control_word(&queue->first);
  const std::uint32_t end = first + control_word(&queue->count);
  if (end == first || atomicExch(&arguments.claims[sm], 1U) != 0) return;
  begin_watch(seen, state, sm);
  if (arguments.rendezvous != 0) {
    atomicAdd(&state->arrived, 1U);
    if (!wait_for(&state->arrived, arguments.rendezvous, state, seen, placement_patience_ns)) return;
  }
  std::uint32_t zero;
  asm volatile("mov.u32 %0, 0;" : "=r"(zero));
  const auto* words = reinterpret_cast<const std::uint32_t*>(arguments.tasks + first);
  const std::uint32_t* const last = words + (end - first) * task_words;
#pragma unroll 1
  while (words != last) {
    Task task;
    auto* const copy = reinterpret_cast<std::uint32_t*>(&task);
#pragma unroll
    for (std::uint32_t k = 0; k < task_words; ++k) copy[k] = control_word(words + k);
    words += task_words;
    if (task.wait_value != 0 &&
        !wait_for(reinterpret_cast<const std::uint32_t*>(task.counter), task.wait_value, state, seen, turn_patience_ns))
      return;
    if ((task.flags & task_opens) != 0) {
      look(seen);
      open_program(seen);
    }
    if (task.result != 0)
#pragma unroll 1
      for (std::uint32_t k = 0; k < histogram_bins / 4; ++k) reinterpret_cast<uint4*>(bins)[k] = uint4{0, 0, 0, 0};
    walk_bank(task, zero, bins, seen);
    if (task.post_value == 0) continue;
    atomicExch(reinterpret_cast<unsigned int*>(task.counter), task.post_value);
  }
}

}  // namespace gputopo::kernels
