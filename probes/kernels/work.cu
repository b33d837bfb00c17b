// The workloads' kernels, "work_" and a name each: n is Workload::numbers, the buffers are a, b and c.
#include "kernels/work_chain.cuh"
#include "kernels/work_histogram.cuh"
#include "kernels/work_l2.cuh"
#include "kernels/work_time.cuh"

namespace gputopo::kernels {
namespace {

// The strided product of Monil et al. (2021), a thread an element: neighbouring threads on neighbouring elements.
__device__ __forceinline__ void product(const WorkArguments& w) {
  const std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * w.n[0];
  if (i >= w.n[1]) return;
  const auto* a = reinterpret_cast<const float*>(w.buffers[0]);
  const auto* b = reinterpret_cast<const float*>(w.buffers[1]);
  reinterpret_cast<float*>(w.buffers[2])[i] = a[i] * b[i];
}

// Reads n0 bytes of a from n1 on, once.
__device__ __forceinline__ void sweep(const WorkArguments& w) {
  const auto* words = reinterpret_cast<const uint4*>(w.buffers[0] + w.n[1]);
  std::uint32_t sum = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < w.n[0] / sizeof(uint4);
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const uint4 v = words[i];
    sum ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x12345678U) *w.sink = sum;
}

// n0 times 32 barriers.
__device__ __forceinline__ void barriers(const WorkArguments& a) {
  timed(a, [&] {
#pragma unroll 1
    for (std::uint64_t i = 0; i < a.n[0]; ++i)
#pragma unroll
      for (int k = 0; k < 32; ++k) __syncthreads();
  });
}

// 32 paths of 64 dependent operations each, of which a lane takes those whose bits it finds in input[lane]; n0 times.
__device__ __forceinline__ void paths(const WorkArguments& a) {
  const std::uint32_t taken = a.input[threadIdx.x % 32];
  float x = 1, y = 1;
  timed(a, [&] {
#pragma unroll 1
    for (std::uint64_t i = 0; i < a.n[0]; ++i)
#pragma unroll
      for (int path = 0; path < 32; ++path)
        if ((taken >> path & 1) != 0)
#pragma unroll
          for (int k = 0; k < 64; ++k) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y));
  });
  if (x == 0.5F && a.zero != 0) *a.sink = 1;
}

// output: 256 readings of the SM's clock and 256 of the GPU's timer, low words, with ever other distances.
__device__ __forceinline__ void clocks(const WorkArguments& a) {
  if (threadIdx.x != 0) return;
  std::uint32_t x = a.zero;
#pragma unroll 1
  for (int i = 0; i < 256; ++i) {
#pragma unroll 1
    for (int k = i % 16; k >= 0; --k) asm volatile("add.s32 %0, %0, 1;" : "+r"(x));
    a.output[i] = static_cast<std::uint32_t>(work_clock());
  }
  std::uint64_t before = work_timer();
#pragma unroll 1
  for (int i = 0; i < 256; ++i) {
    std::uint64_t now = before;
    while (now == before) now = work_timer();
    a.output[256 + i] = static_cast<std::uint32_t>(now);
    before = now;
  }
  if (x == 12345) *a.sink = x;
}

// `items` words a thread, all of them wanted in each of n0 rounds; blocks of 1024 threads have 64 registers for each.
template <int items>
__device__ __forceinline__ void hold(const WorkArguments& a) {
  constexpr int rounds_at_once = items < 64 ? (64 + items - 1) / items : 1;  // so that the loop costs little
  const auto* from = reinterpret_cast<const std::uint32_t*>(a.buffers[0]) + blockIdx.x * blockDim.x * items;
  std::uint32_t v[items];
#pragma unroll
  for (int i = 0; i < items; ++i) v[i] = from[i * blockDim.x + threadIdx.x];
  timed(a, [&] {
#pragma unroll 1
    for (std::uint64_t round = 0; round < a.n[0]; round += rounds_at_once)
#pragma unroll
      for (int i = 0; i < items * rounds_at_once; ++i)
        asm volatile("mad.lo.u32 %0, %0, %1, %0;" : "+r"(v[i % items]) : "r"(v[(i + 1) % items]));
  });
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < items; ++i) sum ^= v[i];
  if (sum == 0x12345678U && a.zero != 0) *a.sink = sum;
}

#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ std::uint32_t place_at(const void* here, std::uint32_t rank) {
  std::uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(here))), "r"(rank));
  return there;
}

__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Each block in turn loads n0 times 16 words, one after the other, from a word of each block's that holds its own
// place. output: the blocks' SMs, then the cycles that took for reader and owner.
template <int size>
__device__ __forceinline__ void cluster_latency(const WorkArguments& a) {
  __shared__ std::uint32_t cell[32];
  const std::uint32_t rank = cluster_rank();
  if (threadIdx.x == 0) cell[0] = place_at(cell, rank);
  if (threadIdx.x == 0) a.output[rank] = work_sm();
#pragma unroll 1
  for (std::uint32_t reader = 0; reader < size; ++reader) {
    cluster_sync();
    if (reader != rank || threadIdx.x != 0) continue;
#pragma unroll 1
    for (std::uint32_t owner = 0; owner < size; ++owner) {
      std::uint32_t place = place_at(cell, owner);
      std::uint64_t begin = 0;
#pragma unroll 1
      for (std::uint64_t i = 0; i <= a.n[0]; ++i) {
        if (i == 1) begin = work_clock();  // the first ones warm up
#pragma unroll
        for (int k = 0; k < 16; ++k) asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(place)::"memory");
      }
      asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 0xffffffff; @p trap; }" ::"r"(place));
      a.output[size + reader * size + owner] = static_cast<std::uint32_t>(work_clock() - begin);
    }
  }
  cluster_sync();
}

// All blocks read the n1 bytes of the block n0 ranks further, n2 times, 16 bytes a lane and 4 in flight.
template <int size>
__device__ __forceinline__ void cluster_read(const WorkArguments& a) {
  extern __shared__ uint4 mine[];
  for (std::uint32_t i = threadIdx.x; i < a.n[1] / sizeof(uint4); i += blockDim.x) mine[i] = uint4{1, 2, 3, 4};
  const std::uint32_t from = place_at(mine, (cluster_rank() + static_cast<std::uint32_t>(a.n[0])) % size);
  const auto bytes = static_cast<std::uint32_t>(a.n[1]);
  const std::uint32_t step = blockDim.x * 16;
  std::uint32_t sum = 0;
  uint4 v[4] = {};
  cluster_sync();
  timed(a, [&] {
#pragma unroll 1
    for (std::uint64_t lap = 0; lap < a.n[2]; ++lap)
#pragma unroll 1
      for (std::uint32_t at = threadIdx.x * 16; at < bytes; at += 4 * step)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
          asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                       : "r"(from + at + k * step)
                       : "memory");
        }
  });
#pragma unroll
  for (int k = 0; k < 4; ++k) sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  if (sum == 0x12345678U && a.zero != 0) *a.sink = sum;
  cluster_sync();
}

// Each block says where it runs and stays there for n0 cycles, so that others have to go elsewhere.
__device__ __forceinline__ void cluster_places(const WorkArguments& a) {
  if (threadIdx.x == 0) a.output[blockIdx.x] = work_sm();
  const std::uint64_t begin = work_clock();
  while (work_clock() - begin < a.n[0]) {
  }
  cluster_sync();
}

#endif

}  // namespace
}  // namespace gputopo::kernels

#define GPUTOPO_WORK(name)                                                    \
  extern "C" __global__ void work_##name(gputopo::kernels::WorkArguments a) { \
    gputopo::kernels::name(a);                                                \
  }
#define GPUTOPO_CHAIN(operation)                                                                                     \
  extern "C" __global__ void work_chain_##operation##_1(gputopo::kernels::WorkArguments a) {                         \
    gputopo::kernels::chain<gputopo::kernels::operation, 1>(a);                                                      \
  }                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(1024) work_chain_##operation##_4(gputopo::kernels::WorkArguments a) { \
    gputopo::kernels::chain<gputopo::kernels::operation, 4>(a);                                                      \
  }
#define GPUTOPO_HOLD(items)                                                                                 \
  extern "C" __global__ void __launch_bounds__(1024) work_hold_##items(gputopo::kernels::WorkArguments a) { \
    gputopo::kernels::hold<items>(a);                                                                       \
  }
// Where there are clusters their size is the kernel's own, so that a plain launch makes them.
#if __CUDA_ARCH__ >= 900
#define GPUTOPO_CLUSTER(size)                                          \
  extern "C" __global__ void __cluster_dims__(size, 1, 1)              \
      work_cluster_latency_##size(gputopo::kernels::WorkArguments a) { \
    gputopo::kernels::cluster_latency<size>(a);                        \
  }                                                                    \
  extern "C" __global__ void __cluster_dims__(size, 1, 1)              \
      work_cluster_read_##size(gputopo::kernels::WorkArguments a) {    \
    gputopo::kernels::cluster_read<size>(a);                           \
  }
#define GPUTOPO_CLUSTER_PLACES(size)                                  \
  extern "C" __global__ void __cluster_dims__(size, 1, 1)             \
      work_cluster_places_##size(gputopo::kernels::WorkArguments a) { \
    gputopo::kernels::cluster_places(a);                              \
  }
#else
#define GPUTOPO_CLUSTER(size)
#define GPUTOPO_CLUSTER_PLACES(size)
#endif

GPUTOPO_WORK(product)
GPUTOPO_WORK(sweep)
GPUTOPO_WORK(barriers)
GPUTOPO_WORK(paths)
GPUTOPO_WORK(clocks)
GPUTOPO_CHAIN(integer_add)
GPUTOPO_CHAIN(integer_multiply_add)
GPUTOPO_CHAIN(integer_logic)
GPUTOPO_CHAIN(integer_shift)
GPUTOPO_CHAIN(integer_count_bits)
GPUTOPO_CHAIN(integer_divide)
GPUTOPO_CHAIN(float_add)
GPUTOPO_CHAIN(float_multiply_add)
GPUTOPO_CHAIN(float_divide)
GPUTOPO_CHAIN(half_multiply_add)
GPUTOPO_CHAIN(double_multiply_add)
GPUTOPO_CHAIN(special_reciprocal_root)
GPUTOPO_CHAIN(special_exponential)
GPUTOPO_CHAIN(convert)
GPUTOPO_CHAIN(shuffle)
#if __CUDA_ARCH__ >= 800 || (__CUDA_ARCH__ >= 700 && !defined(GPUTOPO_PORTABLE))
GPUTOPO_CHAIN(tensor_half)
#endif
#if __CUDA_ARCH__ >= 800
GPUTOPO_CHAIN(tensor_double)
#endif
GPUTOPO_HOLD(8)
GPUTOPO_HOLD(16)
GPUTOPO_HOLD(24)
GPUTOPO_HOLD(32)
GPUTOPO_HOLD(36)
GPUTOPO_HOLD(40)
GPUTOPO_HOLD(44)
GPUTOPO_HOLD(48)
GPUTOPO_HOLD(52)
GPUTOPO_HOLD(56)
GPUTOPO_HOLD(60)
GPUTOPO_HOLD(64)
GPUTOPO_HOLD(72)
GPUTOPO_HOLD(80)
GPUTOPO_HOLD(96)
GPUTOPO_HOLD(112)
GPUTOPO_HOLD(128)
GPUTOPO_CLUSTER(2)
GPUTOPO_CLUSTER(4)
GPUTOPO_CLUSTER(8)
GPUTOPO_CLUSTER(16)
GPUTOPO_CLUSTER_PLACES(2)
GPUTOPO_CLUSTER_PLACES(3)
GPUTOPO_CLUSTER_PLACES(4)
GPUTOPO_CLUSTER_PLACES(5)
GPUTOPO_CLUSTER_PLACES(6)
GPUTOPO_CLUSTER_PLACES(7)
GPUTOPO_CLUSTER_PLACES(8)
GPUTOPO_CLUSTER_PLACES(9)
GPUTOPO_CLUSTER_PLACES(10)
GPUTOPO_CLUSTER_PLACES(11)
GPUTOPO_CLUSTER_PLACES(12)
GPUTOPO_CLUSTER_PLACES(13)
GPUTOPO_CLUSTER_PLACES(14)
GPUTOPO_CLUSTER_PLACES(15)
GPUTOPO_CLUSTER_PLACES(16)
GPUTOPO_WORK(l2_times)
GPUTOPO_WORK(l2_homes)
GPUTOPO_WORK(l2_read)
GPUTOPO_WORK(l2_write)
GPUTOPO_WORK(l2_add)
GPUTOPO_WORK(l2_chase_read)
GPUTOPO_WORK(l2_chase_add)
GPUTOPO_WORK(fill)
GPUTOPO_WORK(histogram_counts)
GPUTOPO_WORK(histogram_global)
GPUTOPO_WORK(histogram_shared)
GPUTOPO_WORK(histogram_copies)
GPUTOPO_WORK(histogram_wide)
