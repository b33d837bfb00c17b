// The interpreter of chase programs: one thread block an SM works through that SM's queue of phases.
//
// Built three times: as it is, with straight-line code (GPUTOPO_KERNEL_EXECUTE) and with stores (GPUTOPO_KERNEL_STORE),
// so that the everyday kernel stays small in the instruction caches that constants share.
#include <type_traits>

#include "kernels/straight_line.cuh"
#include "kernels/turns.cuh"
#include "kernels/walk.cuh"
#include "kernels/walk_stores.cuh"

namespace gputopo::kernels {
namespace {

template <std::uint32_t path>
__device__ __forceinline__ void run_walk(const Task& task, std::uint64_t texture, std::uint32_t zero, bool leads,
                                         Recorder& recorder, Seen& seen) {
  constexpr bool in_global_memory = path != path_texture && path != path_constant && path != path_shared;
  if (task.lanes > 1) {
    if (threadIdx.x < task.lanes) walk_side_by_side<path>(task, texture, threadIdx.x, seen);
  } else if (!leads) {
  } else if (task.record == record_nothing) {
    walk_untimed<path>(task, texture, seen);
  } else if (task.record == record_histogram || task.record == record_latencies) {
    walk_recorded<path>(task, texture, zero, recorder, seen);
  } else if (in_global_memory && (task.flags & task_wide) != 0) {
    walk_laps<path, std::conditional_t<in_global_memory, std::uint64_t, std::uint32_t>>(task, texture, recorder, seen);
  } else {
    walk_laps<path, std::uint32_t>(task, texture, recorder, seen);
  }
}

// Shared memory can't be filled from the host: each walk that chases pointers there lays them out itself. `task` has
// the address of the buffer in the shared window, `words` points there.
__device__ void fill_shared(const Task& task, std::uint32_t* words, Seen& seen) {
  const std::uint32_t laid = min(task.loads, task.positions);
  for (std::uint32_t k = 0; k < laid; ++k) {
    const std::uint64_t here = (task.first_position + std::uint64_t{k} * task.step) % task.positions;
    const std::uint64_t next =
        (task.first_position + std::uint64_t{k + 1 == laid ? 0 : k + 1} * task.step) % task.positions;
    words[(task.first_byte / 4) + here * task.stride_words] =
        static_cast<std::uint32_t>(task.buffer + task.first_byte + next * task.stride_words * 4);
    if (k % stretch_loads == stretch_loads - 1) glance(seen);
  }
}

// A chain of comparisons: the jump table of a switch would lie in the constant memory that some walks measure.
__device__ __forceinline__ void run_task(Task task, std::uint64_t texture, std::uint32_t* shared_buffers,
                                         std::uint32_t zero, Recorder& recorder, Seen& seen) {
  const bool leads = threadIdx.x == task.warp * warp_threads;
  if (task.path == path_shared) {
    std::uint32_t* words = shared_buffers + task.buffer / 4;
    task.buffer = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
    if (leads && (task.record == record_lap_time || task.record == record_lap_times)) fill_shared(task, words, seen);
    run_walk<path_shared>(task, texture, zero, leads, recorder, seen);
  }
  if (task.path == path_global_cached) run_walk<path_global_cached>(task, texture, zero, leads, recorder, seen);
  if (task.path == path_global_l2_only) run_walk<path_global_l2_only>(task, texture, zero, leads, recorder, seen);
  if (task.path == path_global_no_allocate)
    run_walk<path_global_no_allocate>(task, texture, zero, leads, recorder, seen);
  if (task.path == path_read_only) run_walk<path_read_only>(task, texture, zero, leads, recorder, seen);
  if (task.path == path_texture) run_walk<path_texture>(task, texture, zero, leads, recorder, seen);
  if (task.path == path_constant) run_walk<path_constant>(task, texture, zero, leads, recorder, seen);
}

template <std::uint32_t path>
__device__ __forceinline__ void walk_lead(const Task* task, Seen& seen) {
  std::uint32_t position = task->lead_first;
  for (std::uint32_t left = task->lead; left != 0;) {
    const std::uint32_t stretch = min(left, stretch_loads);
    left -= stretch;
#pragma unroll 1
    for (std::uint32_t k = 0; k < stretch; ++k) {
      consume(load<path>(place_at<path>(*task, task->buffer, position)));
      position = next_position(position, task->lead_step, task->positions);
    }
    glance(seen);
  }
}

// What comes before the recorded loads of a lap and isn't recorded itself, or stores. A call, and only one: the loops
// that record have no register to spare, and what is spilled passes L1. The task stays in shared memory. Fetches that
// aren't timed may go through another part's texture than those that are.
__device__ __noinline__ void run_lead(const Task* task, Seen* seen) {
#ifdef GPUTOPO_KERNEL_STORE
  if (task->path == path_global_store) return run_stores(*task, *seen);
#endif
  if (task->lead == 0 || threadIdx.x != task->warp * warp_threads) return;
  if (task->path == path_constant) walk_lead<path_constant>(task, *seen);
  if (task->path == path_texture) walk_lead<path_texture>(task, *seen);
  if (task->path == path_read_only) walk_lead<path_read_only>(task, *seen);
  if (task->path == path_global_cached) walk_lead<path_global_cached>(task, *seen);
}

// The threads of a block that take part in copying and clearing: all, or each warp's first.
struct Crew {
  std::uint32_t index;
  std::uint32_t size;
};

// How long a task's record is: no more is written than there is, since it takes the place of other lines in the L2.
__device__ std::uint32_t quads_of(const Task& task) {
  static_assert(sizeof(uint4) == quad_bytes);
  const bool are_few = task.record == record_latencies && task.kind == task_walk;
  return are_few ? (task.loads + latencies_a_quad - 1) / latencies_a_quad : data_quads;
}

__device__ void write_result(const Task& task, const Recorder& recorder, const Seen& seen, std::uint32_t sm,
                             Crew crew) {
  auto* result = reinterpret_cast<Result*>(task.result);
  if (threadIdx.x == task.warp * warp_threads) {
    __stcg(&result->cycles, static_cast<unsigned long long>(seen.cycles));
    write_stint(result, seen);
    __stcg(&result->loads, task.loads * task.laps);
    __stcg(&result->sm, sm);
    __stcg(&result->overflow_count, recorder.overflow_count);
    __stcg(&result->done, 1U);
    for (std::uint32_t k = 0; k < min(recorder.overflow_count, overflow_entries); ++k)
      __stcg(&result->overflow[k], recorder.overflow[k]);
  }
  if (task.record < record_histogram) return;
  const auto* from = reinterpret_cast<const uint4*>(recorder.bins);
  auto* to = reinterpret_cast<uint4*>(result->data);
  for (std::uint32_t k = crew.index; k < seen.quads; k += crew.size) __stcg(to + k, from[k]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(block_threads, 1)
#if defined(GPUTOPO_KERNEL_EXECUTE)
    chase_execute(const LaunchArguments arguments)
#elif defined(GPUTOPO_KERNEL_STORE)
    chase_store(const LaunchArguments arguments)
#else
    chase(const LaunchArguments arguments)
#endif
{
  extern __shared__ std::uint32_t shared_memory[];
  __shared__ Seen seen;
  std::uint32_t* const task_memory = shared_memory + recorder_words;
  std::uint32_t* const shared_buffers = task_memory + task_slots * task_words;
  // Threads that wait at a barrier cost the measuring thread a cycle here and there, and a yield in every loop of
  // strong loads: where no phase needs them, they leave.
  const std::uint32_t lone = arguments.lone_warps;
  if (lone != 0 && (threadIdx.x % warp_threads != 0 || threadIdx.x / warp_threads >= lone)) return;
  const Crew crew = lone != 0 ? Crew{threadIdx.x / warp_threads, lone} : Crew{threadIdx.x, block_threads};
  // Copied once: a later read of a kernel parameter would touch the constant caches that a walk may be measuring.
  const Task* tasks = arguments.tasks;
  LaunchState* state = arguments.state;
  const std::uint32_t sm = read_sm();
  if (sm >= arguments.queue_count) return;
  const Queue* queue = arguments.queues + sm;
  const std::uint32_t first = control_word(&queue->first);
  const std::uint32_t end = first + control_word(&queue->count);
  if (end == first) return;
  if (threadIdx.x == 0) {
    begin_watch(seen, state, sm);
    seen.go = atomicExch(&arguments.claims[sm], 1U) == 0 ? 1U : 0U;
    if (seen.go != 0 && arguments.rendezvous != 0) {
      atomicAdd(&state->arrived, 1U);
      if (!wait_for(&state->arrived, arguments.rendezvous, state, seen, placement_patience_ns)) seen.go = 0;
    }
  }
  __syncthreads();
  if (seen.go == 0) return;
  std::uint32_t zero;
  asm volatile("mov.u32 %0, 0;" : "=r"(zero));
  std::uint32_t loaded = first;
  std::uint32_t slot = 0;
  for (std::uint32_t i = first; i < end; ++i, ++slot) {
    if (i == loaded) {
      const std::uint32_t group = min(max(control_word(&tasks[i].group), 1U), task_slots);
      __syncthreads();
      const auto* from = reinterpret_cast<const uint4*>(tasks + i);
      auto* to = reinterpret_cast<uint4*>(task_memory);
      for (std::uint32_t k = crew.index; k < group * task_words / 4; k += crew.size) to[k] = control_quad(from + k);
      loaded += group;
      slot = 0;
      __syncthreads();
    }
    const auto* const here = reinterpret_cast<const Task*>(task_memory + slot * task_words);
    if (here->result != 0) {
      auto* bins = reinterpret_cast<uint4*>(shared_memory);
      for (std::uint32_t k = crew.index; k < histogram_bins / 4; k += crew.size) bins[k] = uint4{0, 0, 0, 0};
    }
    __syncthreads();
    // The wait for a turn is watched like the walks, and so is what was done since the last look.
    if (threadIdx.x == 0) {
      look(seen);
      if (here->wait_value != 0 && !wait_for(reinterpret_cast<const std::uint32_t*>(here->counter), here->wait_value,
                                             state, seen, turn_patience_ns))
        seen.go = 0;
      if ((here->flags & task_opens) != 0) open_program(seen);
      seen.cycles = 0;
      seen.quads = quads_of(*here);
    }
    __syncthreads();
    if (seen.go == 0) return;
    Recorder recorder{shared_memory, shared_memory + histogram_bins, 0};
    if (here->kind == task_walk) {
      run_lead(here, &seen);
      run_task(*here, arguments.texture, shared_buffers, zero, recorder, seen);
    } else if (threadIdx.x == here->warp * warp_threads) {
      run_straight_line(*here, read_sm_again(sm), recorder, seen);
    }
    if (threadIdx.x == (here->lanes > 1 ? 0 : here->warp * warp_threads)) look(seen);
    __syncthreads();
    if (here->result != 0) write_result(*here, recorder, seen, read_sm_again(sm), crew);
    // No fence: it would empty L1, and the loads are done, or else nothing could have used what they brought.
    if (here->post_value != 0) {
      __syncthreads();
      if (threadIdx.x == 0) atomicExch(reinterpret_cast<unsigned int*>(here->counter), here->post_value);
    }
    __syncthreads();
  }
}

#if !defined(GPUTOPO_KERNEL_EXECUTE) && !defined(GPUTOPO_KERNEL_STORE)
/// Lays a pointer chase into global memory: each visited word, of 4 or 8 bytes, gets the place of the next: `unit`
/// times its distance from the buffer's start in 4-byte words, plus `base`.
extern "C" __global__ void fill(std::uint32_t* buffer, std::uint64_t base, std::uint32_t unit, std::uint32_t wide,
                                std::uint32_t first_word, std::uint32_t positions, std::uint32_t stride_words,
                                std::uint32_t first, std::uint32_t step, std::uint32_t loads) {
  for (std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < loads; k += gridDim.x * blockDim.x) {
    const std::uint64_t here = (first + std::uint64_t{k} * step) % positions;
    const std::uint64_t next = (first + std::uint64_t{k + 1 == loads ? 0 : k + 1} * step) % positions;
    const std::uint64_t place = base + unit * (first_word + next * stride_words);
    std::uint32_t* const word = buffer + first_word + here * stride_words;
    if (wide != 0) {
      *reinterpret_cast<std::uint64_t*>(word) = place;
    } else {
      *word = static_cast<std::uint32_t>(place);
    }
  }
}
#endif

}  // namespace gputopo::kernels
