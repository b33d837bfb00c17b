// Walks over code that hold what they brought in while others walk: the thread runs nothing but one list of jumps, of
// which one is a wait, since what lies between two walks by themselves is more than the nearest cache of instructions
// holds.
#pragma once

namespace gputopo::kernels {
namespace {

// The first of `count` tasks' jumps, what comes in between where that is this warp's, else a wait for it, and the last
// one's, which are recorded: one list, so that nothing but the jumps runs in between.
__device__ __noinline__ void walk_holding(const Task* tasks, std::uint32_t count, std::uint32_t* memory,
                                          std::uint32_t one, Seen& seen, std::uint32_t& overflow_count) {
  auto* const list = reinterpret_cast<std::uint16_t*>(memory + recorder_words) + code_list_entries;
  auto* const times = list + held_jumps;
  Hold hold{&seen.held, &seen.released, 1, 1, 0};
  const std::uint32_t own = control_word(&tasks->warp);
  std::uint32_t all = 0, unrecorded = 0;
  bool waits = false;
#pragma unroll 1
  for (std::uint32_t k = 0; k < count; ++k) {
    Task task;
    copy_task(task, tasks + k);
    if (count == 2 && k == 0) {  // the turn goes to other SMs
      hold.post = reinterpret_cast<std::uint32_t*>(task.counter);
      hold.posted = task.post_value;
    }
    if (count == 2 ? k == 1 : task.warp != own) {
      list[all++] = entry_that_holds;
      waits = true;
    }
    if (count == 2 && k == 1) {  // and comes back
      hold.wait = reinterpret_cast<std::uint32_t*>(task.counter);
      hold.awaited = task.wait_value;
    }
    unrecorded = all;
    if (task.warp != own) continue;
    list_order(task, task.first_position, task.step, task.loads * task.laps, list + all);
    all += task.loads * task.laps;
  }
#pragma unroll 1
  for (std::uint32_t k = 0; k < all;) {
    const std::uint32_t left = jump(address_of(list), address_of(list + all), address_of(list + k), all - k,
                                    address_of(times + k), 2, one, hold);
    k = all - left;
    // While it waited, those that it waited for looked at the timer.
    if (waits && read_clock() - hold.ended < stretch_cycles) {
      seen.last_ns = read_timer();
      seen.last_clock = read_long_clock();
    }
    look_at_code(seen);
  }
  if (waits && *static_cast<volatile std::uint32_t*>(hold.wait) < hold.awaited) seen.go = 0;
  count_times(times, unrecorded, all, memory, overflow_count);
}

// What another warp holds code for; nothing where it gave up.
__device__ __noinline__ void walk_meanwhile(const Task& here, std::uint32_t* memory, std::uint32_t one, Seen& seen) {
  Task task;
  copy_task(task, &here);
  volatile Seen& watched = seen;
#pragma unroll 1
  while (watched.held == 0 && watched.go != 0) {
  }
  std::uint32_t overflow_count = 0;
  if (watched.held != 0) walk_code(task, memory, one, seen, overflow_count);
  watched.released = 1;
}

// One task of a queue, and those that it holds its code for. Gives how many these are.
__device__ __noinline__ std::uint32_t run_holding(const Task* here, std::uint32_t warp, std::uint32_t* memory,
                                                  std::uint32_t one, LaunchState* state, Seen& seen) {
  const bool holds = (control_word(&here->flags) & task_holds) != 0;
  const std::uint32_t held = !holds ? 1 : (control_word(&here[1].flags) & task_looks) != 0 ? 2 : 3;
  const bool leads = control_word(&here->warp) == warp;
  if (leads) {
    Task task;
    copy_task(task, here);
    if (task.wait_value != 0 &&
        !wait_for(reinterpret_cast<const std::uint32_t*>(task.counter), task.wait_value, state, seen, turn_patience_ns))
      seen.go = 0;
    look_at_code(seen);
    if ((task.flags & task_opens) != 0) open_program(seen);
    if (holds) copy_task(task, here + held - 1);  // what is recorded and told, to whom
    if (task.record != record_nothing)
#pragma unroll 1
      for (std::uint32_t k = 0; k < recorder_words; ++k) memory[k] = 0;
    std::uint32_t overflow_count = 0;
    if (seen.go != 0 && holds) {
      walk_holding(here, held, memory, one, seen, overflow_count);
    } else if (seen.go != 0) {
      walk_code(task, memory, one, seen, overflow_count);
    }
    look_at_code(seen);
    if (task.result != 0 && seen.go != 0) write_code_result(task, memory, seen, overflow_count);
    if (task.post_value != 0) atomicExch(reinterpret_cast<unsigned int*>(task.counter), task.post_value);
  } else if (held == 3 && control_word(&here[1].warp) == warp) {
    walk_meanwhile(here[1], memory, one, seen);
  }
  __syncthreads();
  if (!holds) return held;
  if (leads) seen.held = seen.released = 0;
  __syncthreads();
  return held;
}

}  // namespace
}  // namespace gputopo::kernels
