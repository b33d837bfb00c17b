// Counts of the 256 values of n0 bytes in a, added to the 256 words of b: from naive to as good as it gets.
#pragma once

#include "kernels/work_time.cuh"

namespace gputopo::kernels {

constexpr std::uint32_t histogram_bins = 256;

// n0 bytes of a: all values alike often in no order (n1 = 0), or all of them n1.
__device__ __forceinline__ void fill(const WorkArguments& a) {
  auto* words = reinterpret_cast<std::uint32_t*>(a.buffers[0]);
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < a.n[0] / 4;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    words[i] = a.n[1] != 0 ? static_cast<std::uint32_t>(a.n[1]) * 0x01010101U : static_cast<std::uint32_t>(x >> 32);
  }
}

// Calls add(value) for each byte that this thread has of a word of `Word`.
template <typename Word, typename Add>
__device__ __forceinline__ void each_byte(const WorkArguments& a, const Add& add) {
  const auto* words = reinterpret_cast<const Word*>(a.buffers[0]);
#pragma unroll 1
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < a.n[0] / sizeof(Word);
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const Word word = words[i];
    const auto* parts = reinterpret_cast<const std::uint32_t*>(&word);
#pragma unroll
    for (int part = 0; part < static_cast<int>(sizeof(Word) / 4); ++part)
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) add(parts[part] >> (8 * byte) & 0xffU);
  }
}

// output: the counts, which begin anew.
__device__ __forceinline__ void histogram_counts(const WorkArguments& a) {
  auto* bins = reinterpret_cast<std::uint32_t*>(a.buffers[1]);
  a.output[threadIdx.x] = bins[threadIdx.x];
  bins[threadIdx.x] = 0;
}

// Every block adds to the same words in memory.
__device__ __forceinline__ void histogram_global(const WorkArguments& a) {
  auto* bins = reinterpret_cast<std::uint32_t*>(a.buffers[1]);
  timed(a, [&] { each_byte<std::uint32_t>(a, [&](std::uint32_t value) { atomicAdd(bins + value, 1U); }); });
}

// `copies` counters a value in shared memory, side by side, of which lanes use different ones.
template <typename Word, int copies>
__device__ __forceinline__ void histogram_of_block(const WorkArguments& a) {
  extern __shared__ std::uint32_t own[];
  auto* bins = reinterpret_cast<std::uint32_t*>(a.buffers[1]);
  timed(a, [&] {
    for (std::uint32_t i = threadIdx.x; i < histogram_bins * copies; i += blockDim.x) own[i] = 0;
    __syncthreads();
    const std::uint32_t copy = threadIdx.x % copies;
    each_byte<Word>(a, [&](std::uint32_t value) { atomicAdd(own + value * copies + copy, 1U); });
    __syncthreads();
    for (std::uint32_t value = threadIdx.x; value < histogram_bins; value += blockDim.x) {
      std::uint32_t sum = 0;
      for (std::uint32_t k = 0; k < copies; ++k) sum += own[value * copies + (k + value) % copies];
      atomicAdd(bins + value, sum);
    }
  });
}

__device__ __forceinline__ void histogram_shared(const WorkArguments& a) {
  histogram_of_block<std::uint32_t, 1>(a);
}
__device__ __forceinline__ void histogram_copies(const WorkArguments& a) {
  histogram_of_block<std::uint32_t, 32>(a);
}
__device__ __forceinline__ void histogram_wide(const WorkArguments& a) {
  histogram_of_block<uint4, 32>(a);
}

}  // namespace gputopo::kernels
