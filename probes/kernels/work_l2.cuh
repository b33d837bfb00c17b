// Where a line of the L2 lives, and what its two sides deliver. A load doesn't tell the home, since the near side keeps
// a copy of a far line; an atomic is carried out at home, so that it takes longer from afar.
#pragma once

#include "kernels/work_time.cuh"

namespace gputopo::kernels {

constexpr std::uint32_t l2_line_bytes = 128;

__device__ __forceinline__ std::uint32_t timed_atomic(std::uint64_t place) {
  std::uint32_t was;
  const std::uint64_t begin = work_clock();
  asm volatile("atom.global.add.u32 %0, [%1], 0;" : "=r"(was) : "l"(place) : "memory");
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 0xffffffff; @p trap; }" ::"r"(was) : "memory");
  return static_cast<std::uint32_t>(work_clock() - begin);
}

// Each SM times n0 lines of a, n1 times. output[sm * n0 + line]: the least.
__device__ __forceinline__ void l2_times(const WorkArguments& a) {
  if (threadIdx.x != 0) return;
  const auto lines = static_cast<std::uint32_t>(a.n[0]);
  const std::uint32_t sm = work_sm();
#pragma unroll 1
  for (std::uint64_t turn = 0; turn < a.n[1]; ++turn)
#pragma unroll 1
    for (std::uint32_t k = 0; k < lines; ++k) {
      const std::uint32_t line = (k + sm * 31) % lines;
      const std::uint32_t took = timed_atomic(a.buffers[0] + std::uint64_t{line} * l2_line_bytes);
      std::uint32_t& least = a.output[sm * lines + line];
      if (turn == 0 || took < least) least = took;
    }
}

// The SMs of each side share out n0 lines. input: of each SM its side, its place among that side's SMs, and how many
// they are. Half-words of output[line]: the least of n1 times from side 0 and from side 1.
__device__ __forceinline__ void l2_homes(const WorkArguments& a) {
  if (threadIdx.x != 0) return;
  const std::uint32_t* own = a.input + 3 * work_sm();
  auto* halves = reinterpret_cast<std::uint16_t*>(a.output);
#pragma unroll 1
  for (std::uint64_t line = own[1]; line < a.n[0]; line += own[2]) {
    std::uint32_t least = 0xffff;
#pragma unroll 1
    for (std::uint64_t turn = 0; turn < a.n[1]; ++turn)
      least = min(least, timed_atomic(a.buffers[0] + line * l2_line_bytes));
    halves[2 * line + own[0]] = static_cast<std::uint16_t>(least);
  }
}

enum class ListUse { read, write, add };

// Each SM walks its own lines of a n0 times, a warp four of them at once. input: of each SM where its list of lines
// begins in the input, and how many there are, a multiple of 32. Additions give nothing back, but are
// waited for in the end.
template <ListUse use>
__device__ __forceinline__ void l2_listed(const WorkArguments& a) {
  extern __shared__ std::uint32_t table[];
  constexpr int in_flight = 8;
  const std::uint32_t* own = a.input + 2 * work_sm();
  const std::uint32_t lines = own[1];
  for (std::uint32_t i = threadIdx.x; i < lines; i += blockDim.x) table[i] = a.input[own[0] + i];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  std::uint32_t sum = 0;
  uint4 v[in_flight] = {};
  timed(a, [&] {
#pragma unroll 1
    for (std::uint64_t lap = 0; lap < a.n[0]; ++lap)
#pragma unroll 1
      for (std::uint32_t i = warp * 4 * in_flight; i < lines; i += warps * 4 * in_flight)
#pragma unroll
        for (int k = 0; k < in_flight; ++k) {
          const std::uint64_t place =
              a.buffers[0] + std::uint64_t{table[i + k * 4 + lane / 8]} * l2_line_bytes + lane % 8 * 16;
          if constexpr (use == ListUse::add) {
            asm volatile("red.global.add.u32 [%0], 0;" ::"l"(place) : "memory");
          } else if constexpr (use == ListUse::write) {
            asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(place), "r"(sum) : "memory");
          } else {
            sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                         : "l"(place)
                         : "memory");
          }
        }
    if constexpr (use == ListUse::add) asm volatile("membar.gl;" ::: "memory");
  });
#pragma unroll
  for (int k = 0; k < in_flight; ++k) sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  if (sum == 0x12345678U && a.zero != 0) *a.sink = sum;
}

// One thread of each SM walks its own lines of a n0 times, the next one when the last one's word, which is 0, is there.
// input: as of l2_listed.
template <bool adds>
__device__ __forceinline__ void l2_chased(const WorkArguments& a) {
  extern __shared__ std::uint32_t table[];
  const std::uint32_t* own = a.input + 2 * work_sm();
  const std::uint32_t lines = own[1];
  for (std::uint32_t i = threadIdx.x; i < lines; i += blockDim.x) table[i] = a.input[own[0] + i];
  std::uint32_t word = 0;
  timed(a, [&] {
    if (threadIdx.x != 0) return;
#pragma unroll 1
    for (std::uint64_t lap = 0; lap < a.n[0]; ++lap)
#pragma unroll 1
      for (std::uint32_t i = 0; i < lines; ++i) {
        const std::uint64_t place = a.buffers[0] + std::uint64_t{table[i]} * l2_line_bytes + (word & a.zero);
        if constexpr (adds) {
          asm volatile("atom.global.add.u32 %0, [%1], 0;" : "=r"(word) : "l"(place) : "memory");
        } else {
          asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(place) : "memory");
        }
      }
  });
  if (word == 0x12345678U && a.zero != 0) *a.sink = word;
}

__device__ __forceinline__ void l2_chase_read(const WorkArguments& a) {
  l2_chased<false>(a);
}
__device__ __forceinline__ void l2_chase_add(const WorkArguments& a) {
  l2_chased<true>(a);
}
__device__ __forceinline__ void l2_read(const WorkArguments& a) {
  l2_listed<ListUse::read>(a);
}
__device__ __forceinline__ void l2_write(const WorkArguments& a) {
  l2_listed<ListUse::write>(a);
}
__device__ __forceinline__ void l2_add(const WorkArguments& a) {
  l2_listed<ListUse::add>(a);
}

}  // namespace gputopo::kernels
