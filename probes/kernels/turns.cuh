// Waiting for another SM, through global memory and past L1.
#pragma once

#include "kernels/watch.cuh"

namespace gputopo::kernels {

// A missing block ends a launch instead of hanging the GPU. Blocks of one launch come to lie on their SMs within
// microseconds, or not before another process's kernel ends; a turn comes when all those before it are done. Only time
// in which the GPU was there counts.
constexpr std::uint32_t placement_patience_ns = 250'000'000;
constexpr std::uint32_t turn_patience_ns = 2'000'000'000;

/// Waits until *counter reaches `value`. False when the patience ran out, here or anywhere in the launch.
__device__ inline bool wait_for(const std::uint32_t* counter, std::uint32_t value, LaunchState* state, Seen& seen,
                                std::uint32_t patience_ns) {
  std::uint32_t waited_ns = 0;
  while (control_word(counter) < value) {
    if (control_word(&state->failed) != 0) return false;
    waited_ns += look(seen);
    if (waited_ns > patience_ns) {
      atomicExch(&state->failed, 1U);
      return false;
    }
#if __CUDA_ARCH__ >= 700
    __nanosleep(100);
#endif
  }
  return true;
}

}  // namespace gputopo::kernels
