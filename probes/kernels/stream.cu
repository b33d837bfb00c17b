// The stream programs' kernels: one for each operation, kind of memory, width, layout and unrolling that it may take.
//
// Two layouts: `run`, where a warp's access is one run of bytes and items lie at distances that the compiler knows, and
// `far`, where lanes lie anywhere and distances are arguments.
#include "kernels/stream_abi.hpp"
#include "kernels/stream_access.cuh"

namespace gputopo::kernels {
namespace {

enum class What { read, write, copy, fetch_add, add };
enum class Layout { run, far };

__device__ __forceinline__ std::uint64_t stream_timer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

__device__ __forceinline__ std::uint64_t stream_clock() {
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

// `unroll` accesses of a thread. What a read brings is used right before the next read into the same registers, a pass
// later: so that many are under way at any time, and the assembler, which would use what it loads as it arrives and save
// the registers, has no way round it.
template <What what, Where where, int width, Layout layout, int unroll>
__device__ __forceinline__ void pass(const StreamArguments& a, std::uint64_t base, std::uint64_t to, std::uint64_t at,
                                     Words<width> (&v)[unroll], std::uint32_t& sum) {
  const std::uint64_t next = layout == Layout::run ? 32 * width : a.item_stride;
#pragma unroll
  for (int k = 0; k < unroll; ++k) {
    if constexpr (what == What::fetch_add || what == What::add) {
      if constexpr (what == What::fetch_add) fold<width>(sum, v[k]);
      v[k].w[0] = add_one<where, what == What::fetch_add>(base, at + k * next);
    } else if constexpr (what == What::write) {
      for (int i = 0; i < Words<width>::count; ++i) v[k].w[i] = sum;
      write_words<where, width>(base, at + k * next, v[k]);
    } else {
      if constexpr (what == What::read) fold<width>(sum, v[k]);
      v[k] = read_words<where, width>(base, a.texture, at + k * next);
    }
  }
  if constexpr (what == What::copy)
#pragma unroll
    for (int k = 0; k < unroll; ++k) write_words<where, width>(to, at + k * next, v[k]);
}

template <What what, Where where, int width, Layout layout, int unroll>
__device__ __forceinline__ void stream(const StreamArguments& a) {
  extern __shared__ uint4 shared[];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  std::uint64_t base = a.from + blockIdx.x * a.block_base;
  if constexpr (where == Where::shared) {
    auto* words = reinterpret_cast<std::uint32_t*>(shared);
    for (std::uint32_t i = threadIdx.x; i < a.shared_words; i += blockDim.x) words[i] = 0;
    base = __cvta_generic_to_shared(shared);
  }
  const std::uint64_t to = where == Where::shared ? base : a.to + blockIdx.x * a.block_base;
  std::uint64_t of_lane = layout == Layout::run ? lane * width
                                                : lane / a.lane_group * a.group_stride + lane % a.lane_group * a.lane_stride;
  // An index that is provably the same for a warp would take the uniform path, which isn't the cache's.
  if constexpr (where == Where::constant) of_lane += lane & a.zero;
  std::uint64_t at = (blockIdx.x * a.block_start + warp * a.warp_stride) % a.region;
  const std::uint32_t items = unroll >= static_cast<int>(deep_unroll) ? unroll : a.items;
  std::uint32_t sum = lane;
  Words<width> v[unroll] = {};
  StreamBlock seen{};
#pragma unroll 1
  for (std::uint32_t timed = a.warm_trips != 0 ? 0 : 1; timed < 2; ++timed) {
    __syncthreads();
    seen.begin_clock = stream_clock();
    seen.begin_ns = stream_timer();
    const std::uint64_t trips = timed == 0 ? a.warm_trips : a.trips;
#pragma unroll 1
    for (std::uint64_t trip = 0; trip < trips; ++trip) {
      std::uint64_t place = at + of_lane;
#pragma unroll 1
      for (std::uint32_t left = items; left != 0; left -= unroll) {
        pass<what, where, width, layout, unroll>(a, base, to, place, v, sum);
        place += unroll * (layout == Layout::run ? std::uint64_t{32 * width} : a.item_stride);
      }
      at += a.step;
      if (at >= a.region) at -= a.region;
    }
  }
#pragma unroll
  for (int k = 0; k < unroll; ++k) fold<width>(sum, v[k]);
  if (sum == 0x12345678U && a.zero != 0) *a.sink = sum;
  if (a.blocks == nullptr) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  seen.end_clock = stream_clock();
  seen.end_ns = stream_timer();
  asm volatile("mov.u32 %0, %%smid;" : "=r"(seen.sm));
  a.blocks[blockIdx.x] = seen;
}

}  // namespace
}  // namespace gputopo::kernels

#define GPUTOPO_STREAM(what, where, width, layout, unroll)                                             \
  extern "C" __global__ void __launch_bounds__(gputopo::kernels::most_stream_threads(                  \
      gputopo::kernels::What::what == gputopo::kernels::What::copy,                                    \
      gputopo::kernels::Layout::layout == gputopo::kernels::Layout::far, width, unroll))               \
      stream_##what##_##where##_##width##_##layout##_##unroll(gputopo::kernels::StreamArguments a) {   \
    using namespace gputopo::kernels;                                                                  \
    stream<What::what, Where::where, width, Layout::layout, unroll>(a);                                \
  }
#define GPUTOPO_UNROLLED(what, where, width, layout) \
  GPUTOPO_STREAM(what, where, width, layout, 1)      \
  GPUTOPO_STREAM(what, where, width, layout, 2)      \
  GPUTOPO_STREAM(what, where, width, layout, 4)      \
  GPUTOPO_STREAM(what, where, width, layout, 8)
#define GPUTOPO_WIDTHS(what, where, layout)      \
  GPUTOPO_UNROLLED(what, where, 4, layout)       \
  GPUTOPO_UNROLLED(what, where, 8, layout)       \
  GPUTOPO_UNROLLED(what, where, 16, layout)
#define GPUTOPO_DEEPER(what, where)             \
  GPUTOPO_STREAM(what, where, 4, run, 16)       \
  GPUTOPO_STREAM(what, where, 8, run, 16)       \
  GPUTOPO_STREAM(what, where, 4, run, 32)       \
  GPUTOPO_STREAM(what, where, 8, run, 32)
#define GPUTOPO_BANKED(what)                    \
  GPUTOPO_STREAM(what, shared, 1, far, 8)       \
  GPUTOPO_STREAM(what, shared, 4, far, 1)       \
  GPUTOPO_STREAM(what, shared, 4, far, 8)
#define GPUTOPO_ADDING(what)                    \
  GPUTOPO_STREAM(what, cached, 4, far, 1)       \
  GPUTOPO_STREAM(what, cached, 4, far, 4)       \
  GPUTOPO_STREAM(what, shared, 4, far, 1)       \
  GPUTOPO_STREAM(what, shared, 4, far, 4)

// When everything before it is done, by the GPU's timer.
extern "C" __global__ void stream_stamp(std::uint64_t* ns) {
  *ns = gputopo::kernels::stream_timer();
}

GPUTOPO_WIDTHS(read, cached, run)
GPUTOPO_WIDTHS(read, l2_only, run)
GPUTOPO_WIDTHS(read, texture, run)
GPUTOPO_WIDTHS(read, shared, run)
GPUTOPO_WIDTHS(write, cached, run)
GPUTOPO_WIDTHS(write, shared, run)
GPUTOPO_WIDTHS(copy, cached, run)
GPUTOPO_WIDTHS(copy, shared, run)
GPUTOPO_DEEPER(read, cached)
GPUTOPO_DEEPER(read, shared)
GPUTOPO_WIDTHS(read, cached, far)
GPUTOPO_WIDTHS(write, cached, far)
GPUTOPO_WIDTHS(read, constant, far)
GPUTOPO_BANKED(read)
GPUTOPO_BANKED(write)
GPUTOPO_ADDING(fetch_add)
GPUTOPO_ADDING(add)
