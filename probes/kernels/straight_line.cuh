// Straight-line code: an instruction footprint that competes with constants for the caches they share, and how fast it
// is fetched.
#pragma once

#include "kernels/walk.cuh"

namespace gputopo::kernels {

#ifdef GPUTOPO_KERNEL_EXECUTE

// clang-format off
// Multiply-adds that an SM starts one of each cycle, four chains in turn, since one by itself would wait for its own
// results longer than most caches take to bring the next instructions. One assembly statement holds 64 of them: the
// compiler's front end is slow with thousands of statements.
#define GPUTOPO_I4 "fma.rn.f32 %0, %0, %4, %4;\n fma.rn.f32 %1, %1, %4, %4;\n" \
                   "fma.rn.f32 %2, %2, %4, %4;\n fma.rn.f32 %3, %3, %4, %4;\n"
#define GPUTOPO_I16 GPUTOPO_I4 GPUTOPO_I4 GPUTOPO_I4 GPUTOPO_I4
#define GPUTOPO_I64 GPUTOPO_I16 GPUTOPO_I16 GPUTOPO_I16 GPUTOPO_I16
#define GPUTOPO_X64 asm volatile(GPUTOPO_I64 : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "f"(other));
static_assert(code_unit_instructions == 2 * 64, "what a unit holds");
// The unit's number goes into the code, so that no two units can be merged. What a unit took is left behind it, where
// nothing waits for it.
#define GPUTOPO_UNIT(n) \
  if (units <= (n)) goto done; \
  asm volatile("xor.b32 %0, %0, %1;" : "+r"(mark) : "n"(0x5a000000 + (n))); \
  GPUTOPO_X64 GPUTOPO_X64 \
  now = read_clock(); \
  *times = static_cast<std::uint16_t>(now - begin); \
  times += step; \
  begin = now;
#define GPUTOPO_UNITS4(n) GPUTOPO_UNIT(n) GPUTOPO_UNIT((n) + 1) GPUTOPO_UNIT((n) + 2) GPUTOPO_UNIT((n) + 3)
// Between two groups of units: looks at the timer, starts the clock again. In line: a call from here would keep its
// return address in local memory, which lies in L1.
#define GPUTOPO_UNITS16(n) GPUTOPO_UNITS4(n) GPUTOPO_UNITS4((n) + 4) GPUTOPO_UNITS4((n) + 8) GPUTOPO_UNITS4((n) + 12) \
  look_here(seen); \
  begin = read_clock();
static_assert(stretch_units == 16, "where straight_line looks");

// `step` is 1 where each unit's time is wanted, of all laps, 0 where none is.
__device__ __noinline__ void straight_line(std::uint32_t units, std::uint32_t laps, std::uint32_t seed,
                                           volatile std::uint16_t* times, std::uint32_t step,
                                           volatile std::uint32_t* sink, Seen& seen) {
  // Not alike, or the assembler would make one chain of four.
  float a = __uint_as_float(seed), b = __uint_as_float(seed + 1), c = __uint_as_float(seed + 2),
        d = __uint_as_float(seed + 3);
  const float other = __uint_as_float(seed + 4);
  std::uint32_t mark = seed, now = 0;
#pragma unroll 1
  for (std::uint32_t lap = 0; lap < laps; ++lap) {
    std::uint32_t begin = read_clock();
    GPUTOPO_UNITS16(0) GPUTOPO_UNITS16(16) GPUTOPO_UNITS16(32) GPUTOPO_UNITS16(48)
    GPUTOPO_UNITS16(64) GPUTOPO_UNITS16(80) GPUTOPO_UNITS16(96) GPUTOPO_UNITS16(112)
  done:
    look_here(seen);
  }
  // Kept alive by a store: what it holds may well be all ones, so a trap won't do.
  *sink = mark ^ __float_as_uint(a) ^ __float_as_uint(b) ^ __float_as_uint(c) ^ __float_as_uint(d);
}
static_assert(code_units == 128, "all of straight_line");
// clang-format on

__device__ __forceinline__ void run_straight_line(const Task& task, std::uint32_t seed, Recorder& recorder,
                                                  Seen& seen) {
  const bool times = task.record == record_latencies;
  straight_line(task.units, task.laps, seed, reinterpret_cast<volatile std::uint16_t*>(recorder.bins), times ? 1 : 0,
                recorder.overflow, seen);
}

#else

__device__ __forceinline__ void run_straight_line(const Task&, std::uint32_t, Recorder&, Seen&) {}

#endif

}  // namespace gputopo::kernels
