// Waiting for another SM, through global memory and past L1.
#pragma once

#include "kernels/loads.cuh"

namespace gputopo::kernels {

// About 2 s: no chain waits longer for its turn, so that a missing block ends a launch instead of hanging the GPU.
constexpr long long patience_cycles = 4'000'000'000LL;

/// Waits until *counter reaches `value`. False when the patience ran out, here or anywhere in the launch.
__device__ inline bool wait_for(const std::uint32_t* counter, std::uint32_t value, LaunchState* state) {
  const long long begin = clock64();
  while (control_word(counter) < value) {
    if (control_word(&state->failed) != 0) return false;
    if (clock64() - begin > patience_cycles) {
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
