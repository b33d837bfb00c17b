// Watching the timer: what took the GPU away from a block, and when.
//
// In line with the walks, between their stretches: a warp that watched beside them would hold an issue slot, stand in
// the barriers and run code of its own in the caches being measured. A look costs some ten cycles outside every clock
// pair and touches no memory but shared memory, as long as there is no gap. After one all private caches are empty, so
// what it then writes disturbs nothing that is worth keeping.
#pragma once

#include "kernels/loads.cuh"

namespace gputopo::kernels {

__device__ __forceinline__ std::uint64_t read_timer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

__device__ __forceinline__ std::uint64_t read_long_clock() {
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ __forceinline__ void list_gap(const Seen& seen, std::uint64_t now_ns, std::uint64_t clock) {
  auto* const state = reinterpret_cast<LaunchState*>(seen.state);
  const std::uint32_t entry = atomicAdd(&state->gap_count, 1U);
  if (entry >= gap_entries) return;
  Gap* const gap = reinterpret_cast<Gap*>(state) - gap_entries + entry;
  __stcg(&gap->begin_ns, static_cast<unsigned long long>(seen.last_ns));
  __stcg(&gap->end_ns, static_cast<unsigned long long>(now_ns));
  __stcg(&gap->cycles, static_cast<unsigned long long>(clock - seen.last_clock));
  __stcg(&gap->sm, seen.sm);
}

/// Looks at the timer. Gives the ns since the last look, 0 where they were a gap.
template <std::uint32_t least_gap_ns = gap_ns>
__device__ __forceinline__ std::uint32_t look_here(Seen& seen) {
  const std::uint64_t now_ns = read_timer();
  const std::uint64_t clock = read_long_clock();
  const std::uint64_t elapsed = now_ns - seen.last_ns;
  const bool gap = elapsed > least_gap_ns;
  if (__builtin_expect(gap, false)) list_gap(seen, now_ns, clock);
  seen.last_ns = now_ns;
  seen.last_clock = clock;
  return gap ? 0 : static_cast<std::uint32_t>(elapsed);
}

// Out of line: walks look in many places, and code is something that walks over constants compete with.
__device__ __noinline__ std::uint32_t look(Seen& seen) {
  return look_here(seen);
}

/// Looks if the clock says that it's time: short stretches needn't each pay for a call. A clock that stood still while
/// the GPU was away only puts the look off, until the clock has run on.
__device__ __forceinline__ void glance(Seen& seen) {
  if (read_long_clock() - seen.last_clock > glance_cycles) look(seen);
}

/// The watch begins. Nothing before it counts.
__device__ __forceinline__ void begin_watch(Seen& seen, LaunchState* state, std::uint32_t sm) {
  seen.last_ns = read_timer();
  seen.last_clock = read_long_clock();
  seen.state = reinterpret_cast<std::uint64_t>(state);
  seen.sm = sm;
}

/// A program begins in this block: right after a look.
__device__ __forceinline__ void open_program(Seen& seen) {
  seen.begin_ns = seen.last_ns;
  seen.begin_clock = seen.last_clock;
}

/// Where the program stands at the latest look.
__device__ __forceinline__ void write_stint(Result* result, const Seen& seen) {
  __stcg(&result->begin_ns, static_cast<unsigned long long>(seen.begin_ns));
  __stcg(&result->end_ns, static_cast<unsigned long long>(seen.last_ns));
  __stcg(&result->begin_clock, static_cast<unsigned long long>(seen.begin_clock));
  __stcg(&result->end_clock, static_cast<unsigned long long>(seen.last_clock));
}

}  // namespace gputopo::kernels
