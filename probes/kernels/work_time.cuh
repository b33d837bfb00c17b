// How the workloads' kernels keep time.
#pragma once

#include "kernels/work_abi.hpp"

namespace gputopo::kernels {

__device__ __forceinline__ std::uint64_t work_timer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

__device__ __forceinline__ std::uint64_t work_clock() {
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ __forceinline__ std::uint32_t work_sm() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

// Runs `body` by all threads of the block and keeps when that was.
template <typename Body>
__device__ __forceinline__ void timed(const WorkArguments& a, const Body& body) {
  StreamBlock seen{};
  __syncthreads();
  seen.begin_clock = work_clock();
  seen.begin_ns = work_timer();
  body();
  __syncthreads();
  if (threadIdx.x != 0 || a.blocks == nullptr) return;
  seen.end_clock = work_clock();
  seen.end_ns = work_timer();
  seen.sm = work_sm();
  a.blocks[blockIdx.x] = seen;
}

}  // namespace gputopo::kernels
