// Walks over code: an SM's queue of phases, each a chase by one thread through blocks of instructions, or over
// constants that share a cache with these; or, in a kernel of its own, over memory whose translations may share a TLB.
//
// As small as can be, and by itself: what the interpreter fetches for itself between phases goes through the caches
// that are being measured.
#include "kernels/blocks.cuh"
#include "kernels/turns.cuh"

namespace gputopo::kernels {
namespace {

__device__ __forceinline__ std::uint32_t address_of(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ __noinline__ void look_at_code(Seen& seen) {
  look_here<code_gap_ns>(seen);
}

// Which entry of the jump table leads to a block: the first of sixteen leads to none.
__device__ __forceinline__ std::uint32_t entry_of(std::uint32_t block) {
  return block + block / (blocks_in_a_row - 1) + 1;
}

// The next `count` positions as entries, from `position` on and round and round.
__device__ __forceinline__ void list_order(const Task& task, std::uint32_t position, std::uint32_t step,
                                           std::uint32_t count, std::uint16_t* list) {
  constexpr std::uint32_t words = code_block_bytes / 4;
#pragma unroll 1
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto first = static_cast<std::uint32_t>(task.first_byte / 4);
    list[k] = static_cast<std::uint16_t>(entry_of((first + position * task.stride_words) / words));
    const std::uint32_t room = task.positions - position;
    position = step >= room ? step - room : position + step;
  }
}

__device__ __forceinline__ void count_times(const std::uint16_t* times, std::uint32_t from, std::uint32_t end,
                                            std::uint32_t* memory, std::uint32_t& overflow_count) {
#pragma unroll 1
  for (std::uint32_t k = from; k < end; ++k) {
    const std::uint32_t cycles = times[k];
    if (cycles < histogram_bins) {
      ++memory[cycles];
    } else {
      if (overflow_count < overflow_entries) memory[histogram_bins + overflow_count] = cycles;
      ++overflow_count;
    }
  }
}

// Jumps for as long as nobody need look at the timer, again and again. What comes before the recorded jumps is one list
// with them wherever it can be: code of the walk's own that ran in between would push out what is looked for.
__device__ __noinline__ void walk_code(const Task& task, std::uint32_t* memory, std::uint32_t one, Seen& seen,
                                       std::uint32_t& overflow_count) {
  auto* const lead_list = reinterpret_cast<std::uint16_t*>(memory + recorder_words);
  auto* const list = lead_list + code_blocks;
  auto* const times = list + code_blocks;
  const bool counts = task.record == record_histogram, keeps = task.record == record_latencies;
  const std::uint32_t all = task.lead + task.loads * task.laps;
  const bool is_one = task.lead != 0 && all <= 2 * code_blocks;
  const std::uint32_t in_lead = is_one ? all : min(task.positions, task.lead);
  const std::uint32_t in_list = min(task.positions, task.loads);
  list_order(task, task.lead_first, task.lead_step, is_one ? task.lead : in_lead, lead_list);
  list_order(task, task.first_position, task.step, is_one ? task.loads : in_list,
             is_one ? lead_list + task.lead : list);
#pragma unroll 1
  for (std::uint32_t k = 0; k < all;) {
    const bool leads = is_one || k < task.lead;
    const std::uint32_t done = leads ? k : (k - task.lead) % task.loads;
    const std::uint32_t left = is_one ? all - k : leads ? task.lead - k : task.loads - done;
    const std::uint32_t wanted = keeps ? left : min(left, stretch_jumps);
    const std::uint16_t* const from = leads ? lead_list : list;
    const std::uint32_t count = leads ? in_lead : in_list;
    auto* const out = keeps && !leads ? reinterpret_cast<std::uint16_t*>(memory) + done : times;
    const std::uint32_t jumps =
        wanted - jump(address_of(from), address_of(from + count), address_of(from + done % count), wanted,
                      address_of(out), (keeps && !leads) || counts ? 2 : 0, one);
    if (counts) count_times(times, task.lead > k ? min(task.lead - k, jumps) : 0, jumps, memory, overflow_count);
    k += jumps;
    if (read_long_clock() - seen.last_clock > glance_cycles) look_at_code(seen);
  }
}

#ifdef GPUTOPO_KERNEL_HELD_CODE
#define GPUTOPO_CODE_KERNEL chase_held_code
#else
#ifdef GPUTOPO_KERNEL_PAGED_CODE
#define GPUTOPO_CODE_KERNEL chase_paged_code
constexpr std::uint32_t path_others = path_global_l2_only;

__device__ __forceinline__ Place place_of_other(const Task& task, std::uint32_t position) {
  return {task.buffer + task.first_byte + std::uint64_t{position} * task.stride_words * 4, 0};
}
#else
#define GPUTOPO_CODE_KERNEL chase_code
constexpr std::uint32_t path_others = path_constant;

__device__ __forceinline__ Place place_of_other(const Task& task, std::uint32_t position) {
  return {task.first_byte / 4 + position * task.stride_words, 0};
}
#endif

// Constants or memory, untimed: they are here to push code or its translation out.
__device__ __noinline__ void walk_others(const Task& task, Seen& seen) {
  std::uint32_t position = task.first_position;
  const std::uint32_t loads = task.loads * task.laps;
#pragma unroll 1
  for (std::uint32_t k = 0; k < loads; ++k) {
    if (k % stretch_loads == 0) glance(seen);
    consume(load<path_others>(place_of_other(task, position)));
    const std::uint32_t room = task.positions - position;
    position = task.step >= room ? task.step - room : position + task.step;
  }
}

#endif

__device__ __noinline__ void write_code_result(const Task& task, const std::uint32_t* memory, const Seen& seen,
                                               std::uint32_t overflow_count) {
  auto* const result = reinterpret_cast<Result*>(task.result);
  write_stint(result, seen);
  __stcg(&result->loads, task.loads * task.laps);
  __stcg(&result->sm, read_sm());
  __stcg(&result->overflow_count, overflow_count);
  __stcg(&result->done, 1U);
#pragma unroll 1
  for (std::uint32_t k = 0; k < min(overflow_count, overflow_entries); ++k)
    __stcg(&result->overflow[k], memory[histogram_bins + k]);
  if (task.record == record_nothing) return;
#pragma unroll 1
  for (std::uint32_t k = 0; k < histogram_bins; ++k) __stcg(&result->data[k], memory[k]);
}

__device__ __forceinline__ void copy_task(Task& task, const Task* from) {
  auto* const copy = reinterpret_cast<std::uint32_t*>(&task);
#pragma unroll 1
  for (std::uint32_t k = 0; k < task_words; ++k)
    copy[k] = control_word(reinterpret_cast<const std::uint32_t*>(from) + k);
}

}  // namespace
}  // namespace gputopo::kernels

#ifdef GPUTOPO_KERNEL_HELD_CODE
#include "kernels/held_code.cuh"
#endif

namespace gputopo::kernels {

extern "C" __global__ void __launch_bounds__(block_threads, 1) GPUTOPO_CODE_KERNEL(const LaunchArguments arguments) {
  extern __shared__ std::uint32_t memory[];
  __shared__ Seen seen;
  // Of each warp that has work, one thread: a warp's number tells its scheduler.
  const std::uint32_t warps = arguments.lone_warps == 0 ? block_threads / warp_threads : arguments.lone_warps;
  const std::uint32_t warp = threadIdx.x / warp_threads;
  if (threadIdx.x % warp_threads != 0 || warp >= warps) return;
  const std::uint32_t sm = read_sm();
  if (sm >= arguments.queue_count) return;
  LaunchState* const state = arguments.state;
  const Queue* const queue = arguments.queues + sm;
  const std::uint32_t first = control_word(&queue->first);
  const std::uint32_t end = first + control_word(&queue->count);
  if (end == first) return;
  if (warp == 0) {
#ifdef GPUTOPO_KERNEL_HELD_CODE
    seen.held = seen.released = 0;
#endif
    begin_watch(seen, state, sm);
    seen.go = atomicExch(&arguments.claims[sm], 1U) == 0 ? 1U : 0U;
    if (seen.go != 0 && arguments.rendezvous != 0) {
      atomicAdd(&state->arrived, 1U);
      if (!wait_for(&state->arrived, arguments.rendezvous, state, seen, placement_patience_ns)) seen.go = 0;
    }
  }
  __syncthreads();
  const std::uint32_t one = *static_cast<volatile std::uint32_t*>(&seen.go);
#ifdef GPUTOPO_KERNEL_HELD_CODE
#pragma unroll 1
  for (std::uint32_t i = first; i < end && seen.go != 0;)
    i += run_holding(arguments.tasks + i, warp, memory, one, state, seen);
#else
#pragma unroll 1
  for (std::uint32_t i = first; i < end && seen.go != 0; ++i) {
    if (control_word(&arguments.tasks[i].warp) == warp) {
      Task task;
      copy_task(task, arguments.tasks + i);
      if (task.wait_value != 0 && !wait_for(reinterpret_cast<const std::uint32_t*>(task.counter), task.wait_value,
                                            state, seen, turn_patience_ns))
        seen.go = 0;
      look_at_code(seen);
      if ((task.flags & task_opens) != 0) open_program(seen);
      if (task.record != record_nothing)
#pragma unroll 1
        for (std::uint32_t k = 0; k < recorder_words; ++k) memory[k] = 0;
      std::uint32_t overflow_count = 0;
      if (seen.go != 0 && task.path == path_others) {
        walk_others(task, seen);
      } else if (seen.go != 0) {
        walk_code(task, memory, one, seen, overflow_count);
      }
      look_at_code(seen);
      if (task.result != 0 && seen.go != 0) write_code_result(task, memory, seen, overflow_count);
      if (task.post_value != 0) atomicExch(reinterpret_cast<unsigned int*>(task.counter), task.post_value);
    }
    __syncthreads();
  }
#endif
}

}  // namespace gputopo::kernels
