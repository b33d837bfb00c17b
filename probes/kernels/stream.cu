// The stream programs' kernels: one for each operation, kind of memory, width, layout and unrolling that it may take.
//
// Between accesses there is as little as can be: what the loop around them takes, a level that is as fast isn't seen
// to take.
#include "kernels/stream_abi.hpp"
#include "kernels/stream_access.cuh"

namespace gputopo::kernels {
namespace {

enum class What { read, write, copy, fetch_add, add };

// Where a thread's accesses go, one after another.
enum class Layout {
  run,    // a warp's access is one run of bytes, the next one follows it
  row,    // all lanes at one item, the next one follows it
  fixed,  // always the same place
  far,    // lanes and items at distances that are arguments
};

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

// A warp's part of a stream.
template <What what, Where where, int width, Layout layout, int unroll>
class Streamer {
 public:
  __device__ __forceinline__ Streamer(const StreamArguments& a, std::uint64_t from, std::uint64_t to)
      : a_(a), delta_(to - from), sum_(threadIdx.x % 32) {
    const std::uint32_t lane = threadIdx.x % 32;
    std::uint64_t of_lane = lane / a.lane_group * a.group_stride + lane % a.lane_group * a.lane_stride;
    if constexpr (layout == Layout::run) of_lane = lane * width;
    // An index that is provably the same for a warp would take the uniform path, which isn't the cache's.
    if constexpr (layout == Layout::row) of_lane = lane & a.zero;
    base_ = static_cast<Place<where>>(from + of_lane);
    start_ = (blockIdx.x * a.block_start + threadIdx.x / 32 * a.warp_stride) % a.region;
    if constexpr (in_global_memory<where>)
      trips_to_end_ = (a.region - start_ + a.step - 1) / max(a.step, std::uint64_t{1});
  }

  __device__ __forceinline__ void walk(std::uint32_t laps) {
    if constexpr (layout == Layout::fixed) {
#pragma unroll 1
      for (std::uint32_t left = laps * a_.items; left != 0; left -= unroll, base_ += static_cast<Place<where>>(a_.step))
        pass(base_ + static_cast<Place<where>>(start_));
    } else if constexpr (layout == Layout::far) {
#pragma unroll 1
      for (std::uint32_t lap = 0; lap < laps; ++lap) walk_far();
    } else if constexpr (in_global_memory<where>) {
#pragma unroll 1
      for (std::uint32_t lap = 0; lap < laps; ++lap) {
        walk_on(base_ + start_, trips_to_end_);
        walk_on(base_ + start_ + trips_to_end_ * a_.step - a_.region, a_.trips - trips_to_end_);
      }
    } else {
      walk_round(laps * static_cast<std::uint32_t>(a_.trips));
    }
  }

  // Uses what the last accesses brought.
  __device__ __forceinline__ std::uint32_t sum() {
#pragma unroll
    for (int k = 0; k < unroll; ++k) fold<width>(sum_, v_[k]);
    return sum_;
  }

 private:
  // What a read brings is used right before the next read into the same registers, a pass later: so that many are under
  // way at any time, and the assembler, which would use what it loads as it arrives and save the registers, has no way
  // round it.
  __device__ __forceinline__ void access(Place<where> at, Words<width>& v) {
    if constexpr (what == What::fetch_add || what == What::add) {
      if constexpr (what == What::fetch_add) fold<width>(sum_, v);
      v.w[0] = add_one<where, what == What::fetch_add>(at);
    } else if constexpr (what == What::write) {
      for (int i = 0; i < Words<width>::count; ++i) v.w[i] = sum_;
      write_words<where, width>(at, v);
    } else {
      if constexpr (what == What::read) fold<width>(sum_, v);
      v = read_words<where, width>(at, a_.texture);
    }
  }

  __device__ __forceinline__ void pass(Place<where> at) {
    // At one fixed place distances are 0, which the compiler must not know: it would read once for all.
    const std::uint32_t next = layout == Layout::run ? 32 * width : layout == Layout::row ? width : a_.item_stride;
#pragma unroll
    for (int k = 0; k < unroll; ++k) access(at + k * next, v_[k]);
    if constexpr (what == What::copy)
#pragma unroll
      for (int k = 0; k < unroll; ++k)
        write_words<where, width>(at + k * next + static_cast<Place<where>>(delta_), v_[k]);
  }

  __device__ __forceinline__ void walk_on(std::uint64_t at, std::uint64_t trips) {
    auto left = static_cast<std::uint32_t>(trips);
#pragma unroll 1
    for (; left != 0; --left, at += a_.step) pass(at);
  }

  __device__ __forceinline__ void walk_round(std::uint32_t trips) {
    const auto step = static_cast<std::uint32_t>(a_.step);
    const auto region = static_cast<std::uint32_t>(a_.region);
    auto at = static_cast<std::uint32_t>(start_);
#pragma unroll 1
    for (; trips != 0; --trips) {
      pass(base_ + at);
      at += step;
      if (at >= region) at -= region;
    }
  }

  __device__ __forceinline__ void walk_far() {
    std::uint64_t at = start_;
    std::uint64_t place = base_ + at;
    std::uint32_t item = 0;
    const auto next = [&] {
      place += a_.item_stride;
      if (++item < a_.items) return;
      item = 0;
      at += a_.step;
      if (at >= a_.region) at -= a_.region;
      place = base_ + at;
    };
    std::uint64_t left = a_.trips * a_.items;
#pragma unroll 1
    for (; left >= unroll; left -= unroll)
#pragma unroll
      for (int k = 0; k < unroll; ++k) access(place, v_[k]), next();
#pragma unroll 1
    for (; left != 0; --left) access(place, v_[0]), next();
  }

  const StreamArguments& a_;
  std::uint64_t delta_;
  std::uint64_t start_;
  std::uint64_t trips_to_end_ = 0;
  Place<where> base_;
  std::uint32_t sum_;
  Words<width> v_[unroll] = {};
};

// A warp's own laps, then some of those that are left to all. A turn is asked for before the one before is walked, so
// nobody waits for it.
template <class Walker>
__device__ __forceinline__ void walk_in_turn(Walker& walker, const StreamArguments& a) {
  const std::uint32_t at_once = a.common->laps_of_turn;
  const std::uint32_t in_turn = a.common->laps_in_turn;
  walker.walk(a.laps - in_turn);
  const unsigned long long all = static_cast<unsigned long long>(in_turn) * (blockDim.x / 32) * gridDim.x;
  const auto take = [&] { return threadIdx.x % 32 == 0 ? atomicAdd(&a.common->taken, at_once) : 0ULL; };
  unsigned long long first = __shfl_sync(~0U, take(), 0);
#pragma unroll 1
  while (first < all) {
    const unsigned long long next = take();
    walker.walk(static_cast<std::uint32_t>(min(all - first, static_cast<unsigned long long>(at_once))));
    first = __shfl_sync(~0U, next, 0);
  }
}

template <What what, Where where, int width, Layout layout, int unroll>
__device__ __forceinline__ void stream(const StreamArguments& a) {
  extern __shared__ uint4 shared[];
  std::uint64_t from = blockIdx.x * a.block_base;
  std::uint64_t to = from + a.to;
  if constexpr (in_global_memory<where>) from += a.from;
  if constexpr (where == Where::shared) {
    auto* words = reinterpret_cast<std::uint32_t*>(shared);
    for (std::uint32_t i = threadIdx.x; i < a.shared_words; i += blockDim.x) words[i] = 0;
    from = to = __cvta_generic_to_shared(shared);
  }
  Streamer<what, where, width, layout, unroll> streamer(a, from, to);
  StreamBlock seen{};
#pragma unroll 1
  for (std::uint32_t timed = a.warm_laps != 0 ? 0 : 1; timed < 2; ++timed) {
    __syncthreads();
    seen.begin_clock = stream_clock();
    seen.begin_ns = stream_timer();
    if (what == What::read && where == Where::l2_only && timed == 1)
      walk_in_turn(streamer, a);
    else
      streamer.walk(timed == 0 ? a.warm_laps : a.laps);
  }
  const std::uint32_t sum = streamer.sum();
  if (sum == 0x12345678U && a.zero != 0) a.common->sink = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  seen.end_clock = stream_clock();
  seen.end_ns = stream_timer();
  asm volatile("mov.u32 %0, %%smid;" : "=r"(seen.sm));
  a.blocks[blockIdx.x] = seen;
}

// One thread of a block keeps stages of shared memory full by the SM's copy engine. Nobody reads what arrives; a copy
// that was asked for is made.
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void bulk(const StreamArguments& a) {
  extern __shared__ uint4 shared[];
  __shared__ std::uint64_t arrived[most_stages];
  if (threadIdx.x != 0) return;
  const auto ring = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const auto barriers = static_cast<std::uint32_t>(__cvta_generic_to_shared(arrived));
  for (std::uint32_t k = 0; k < a.stages; ++k)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + 8 * k) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  const std::uint64_t from = a.from + blockIdx.x * a.block_base;
  std::uint64_t at = blockIdx.x * a.block_start % a.region;
  std::uint32_t asked = 0, waited = 0, phase = 0;
  const auto ask = [&] {
    const std::uint32_t barrier = barriers + 8 * asked;
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(a.item_stride) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     ring + asked * a.item_stride),
                 "l"(from + at), "r"(a.item_stride), "r"(barrier)
                 : "memory");
    at += a.step;
    if (at >= a.region) at -= a.region;
    if (++asked == a.stages) asked = 0;
  };
  const auto wait = [&] {
    asm volatile("{ .reg .pred p; again_%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again_%=; }" ::"r"(
                     barriers + 8 * waited),
                 "r"(phase)
                 : "memory");
    if (++waited == a.stages) waited = 0, phase ^= 1;
  };
  StreamBlock seen{};
#pragma unroll 1
  for (std::uint32_t timed = a.warm_laps != 0 ? 0 : 1; timed < 2; ++timed) {
    const std::uint64_t copies = a.trips * (timed == 0 ? a.warm_laps : a.laps);
    seen.begin_clock = stream_clock();
    seen.begin_ns = stream_timer();
    for (std::uint64_t k = 0; k < copies + a.stages; ++k) {
      if (k >= a.stages && k - a.stages < copies) wait();
      if (k < copies) ask();
    }
  }
  seen.end_clock = stream_clock();
  seen.end_ns = stream_timer();
  asm volatile("mov.u32 %0, %%smid;" : "=r"(seen.sm));
  a.blocks[blockIdx.x] = seen;
}
#endif

// One access a thread: the grid is the loop, and its blocks start in the order of their addresses.
template <What what, int width>
__device__ __forceinline__ void once(const StreamArguments& a) {
  const std::uint64_t at = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * width;
  Words<width> v{};
  if constexpr (what == What::copy) v = read_words<Where::cached, width>(a.from + at, 0);
  write_words<Where::cached, width>((what == What::copy ? a.to : a.from) + at, v);
}

}  // namespace
}  // namespace gputopo::kernels

#define GPUTOPO_STREAM(what, where, width, layout, unroll)                                           \
  extern "C" __global__ void __launch_bounds__(gputopo::kernels::most_stream_threads(                \
      gputopo::kernels::What::what == gputopo::kernels::What::copy,                                  \
      gputopo::kernels::Layout::layout == gputopo::kernels::Layout::far, width, unroll))             \
      stream_##what##_##where##_##width##_##layout##_##unroll(gputopo::kernels::StreamArguments a) { \
    using namespace gputopo::kernels;                                                                \
    stream<What::what, Where::where, width, Layout::layout, unroll>(a);                              \
  }
#define GPUTOPO_ONCE(what, width)                                                                \
  extern "C" __global__ void stream_once_##what##_##width(gputopo::kernels::StreamArguments a) { \
    gputopo::kernels::once<gputopo::kernels::What::what, width>(a);                              \
  }
#define GPUTOPO_UNROLLED(what, where, width, layout) \
  GPUTOPO_STREAM(what, where, width, layout, 1)      \
  GPUTOPO_STREAM(what, where, width, layout, 2)      \
  GPUTOPO_STREAM(what, where, width, layout, 4)      \
  GPUTOPO_STREAM(what, where, width, layout, 8)
#define GPUTOPO_WIDTHS(what, where, layout) \
  GPUTOPO_UNROLLED(what, where, 4, layout)  \
  GPUTOPO_UNROLLED(what, where, 8, layout)  \
  GPUTOPO_UNROLLED(what, where, 16, layout)
#define GPUTOPO_DEEPER(what, where)       \
  GPUTOPO_STREAM(what, where, 4, run, 16) \
  GPUTOPO_STREAM(what, where, 8, run, 16) \
  GPUTOPO_STREAM(what, where, 4, run, 32) \
  GPUTOPO_STREAM(what, where, 8, run, 32)
#define GPUTOPO_FAR(what)                 \
  GPUTOPO_STREAM(what, cached, 4, far, 8) \
  GPUTOPO_STREAM(what, cached, 8, far, 8) \
  GPUTOPO_STREAM(what, cached, 16, far, 8)
#define GPUTOPO_BANKED(what)                \
  GPUTOPO_STREAM(what, shared, 1, fixed, 8) \
  GPUTOPO_STREAM(what, shared, 4, fixed, 1) \
  GPUTOPO_STREAM(what, shared, 4, fixed, 8)
#define GPUTOPO_ADDING(what)                \
  GPUTOPO_STREAM(what, cached, 4, fixed, 1) \
  GPUTOPO_STREAM(what, cached, 4, fixed, 4) \
  GPUTOPO_STREAM(what, shared, 4, fixed, 1) \
  GPUTOPO_STREAM(what, shared, 4, fixed, 4)

// Without copy engines there is no such kernel: an empty one would be the fastest of all.
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void stream_read_bulk(gputopo::kernels::StreamArguments a) {
  gputopo::kernels::bulk(a);
}
#endif

// When everything before it is done, by the GPU's timer.
extern "C" __global__ void stream_stamp(std::uint64_t* ns) {
  *ns = gputopo::kernels::stream_timer();
}

GPUTOPO_WIDTHS(read, cached, run)
GPUTOPO_WIDTHS(read, l2_only, run)
GPUTOPO_WIDTHS(read, texture, run)
GPUTOPO_WIDTHS(read, constant, row)
GPUTOPO_WIDTHS(read, shared, run)
GPUTOPO_WIDTHS(write, cached, run)
GPUTOPO_WIDTHS(write, shared, run)
GPUTOPO_WIDTHS(copy, cached, run)
GPUTOPO_WIDTHS(copy, l2_only, run)
GPUTOPO_WIDTHS(copy, shared, run)
GPUTOPO_DEEPER(read, cached)
GPUTOPO_DEEPER(read, shared)
GPUTOPO_FAR(read)
GPUTOPO_FAR(write)
GPUTOPO_ONCE(write, 4)
GPUTOPO_ONCE(write, 8)
GPUTOPO_ONCE(write, 16)
GPUTOPO_ONCE(copy, 4)
GPUTOPO_ONCE(copy, 8)
GPUTOPO_ONCE(copy, 16)
GPUTOPO_BANKED(read)
GPUTOPO_BANKED(write)
GPUTOPO_ADDING(fetch_add)
GPUTOPO_ADDING(add)
