// Walks that store. Only in a kernel of their own (GPUTOPO_KERNEL_STORE): the code of the everyday one stays as it is.
#pragma once

#include "kernels/walk.cuh"

namespace gputopo::kernels {

#ifdef GPUTOPO_KERNEL_STORE

// By one thread, in order. A zero: consume() takes all ones for a mistake, and chases are laid anew before every
// launch.
__device__ __forceinline__ void run_stores(const Task& task, Seen& seen) {
  if (threadIdx.x != task.warp * warp_threads) return;
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) {
    std::uint32_t position = task.first_position;
    for (std::uint32_t left = task.loads; left != 0;) {
      const std::uint32_t stretch = min(left, stretch_loads);
      left -= stretch;
#pragma unroll 1
      for (std::uint32_t k = 0; k < stretch; ++k) {
        const Place place = place_at<path_global_store>(task, 0, position);
        asm volatile("st.global.u32 [%0], %1;" ::"l"(place.address), "r"(0) : "memory");
        position = next_position(position, task.step, task.positions);
      }
      glance(seen);
    }
  }
}

#endif

}  // namespace gputopo::kernels
