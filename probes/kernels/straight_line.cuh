// Straight-line code: an instruction footprint that competes with constants for the caches they share.
#pragma once

#include "kernels/watch.cuh"

namespace gputopo::kernels {

#ifdef GPUTOPO_KERNEL_EXECUTE

// clang-format off
// A multiply-add can't be folded into its neighbours as an exclusive or can. One assembly statement holds 64 of them:
// the compiler's front end is slow with thousands of statements.
#define GPUTOPO_I1 "mad.lo.u32 %0, %0, %1, %1;\n"
#define GPUTOPO_I8 GPUTOPO_I1 GPUTOPO_I1 GPUTOPO_I1 GPUTOPO_I1 GPUTOPO_I1 GPUTOPO_I1 GPUTOPO_I1 GPUTOPO_I1
#define GPUTOPO_I64 GPUTOPO_I8 GPUTOPO_I8 GPUTOPO_I8 GPUTOPO_I8 GPUTOPO_I8 GPUTOPO_I8 GPUTOPO_I8 GPUTOPO_I8
#define GPUTOPO_X64 asm volatile(GPUTOPO_I64 : "+r"(value) : "r"(other));
#define GPUTOPO_UNIT GPUTOPO_X64 GPUTOPO_X64 GPUTOPO_X64 GPUTOPO_X64 GPUTOPO_X64 GPUTOPO_X64 GPUTOPO_X64 GPUTOPO_X64
// The unit's number goes into the code, so that no two units can be merged.
#define GPUTOPO_CASE(n) \
  if (units <= (n)) goto done; \
  asm volatile("xor.b32 %0, %0, %1;" : "+r"(value) : "n"(0x5a000000 + (n))); \
  GPUTOPO_UNIT
// clang-format on

// Between two groups of units: stops the clock, looks at the timer, starts the clock again. In line: a call from here
// would keep its return address in local memory, which lies in L1.
__device__ __forceinline__ std::uint32_t pause_code(Seen& seen, std::uint32_t begin) {
  seen.cycles += read_clock() - begin;
  look_here(seen);
  return read_clock();
}
#define GPUTOPO_PAUSE begin = pause_code(seen, begin);
static_assert(stretch_units == 4, "where straight_line pauses");

// clang-format off
__device__ __noinline__ std::uint32_t straight_line(std::uint32_t units, std::uint32_t value, std::uint32_t other,
                                                    Seen& seen) {
  std::uint32_t begin = read_clock();
  GPUTOPO_CASE(0) GPUTOPO_CASE(1) GPUTOPO_CASE(2) GPUTOPO_CASE(3) GPUTOPO_PAUSE
  GPUTOPO_CASE(4) GPUTOPO_CASE(5) GPUTOPO_CASE(6) GPUTOPO_CASE(7) GPUTOPO_PAUSE
  GPUTOPO_CASE(8) GPUTOPO_CASE(9) GPUTOPO_CASE(10) GPUTOPO_CASE(11) GPUTOPO_PAUSE
  GPUTOPO_CASE(12) GPUTOPO_CASE(13) GPUTOPO_CASE(14) GPUTOPO_CASE(15) GPUTOPO_PAUSE
  GPUTOPO_CASE(16) GPUTOPO_CASE(17) GPUTOPO_CASE(18) GPUTOPO_CASE(19) GPUTOPO_PAUSE
  GPUTOPO_CASE(20) GPUTOPO_CASE(21) GPUTOPO_CASE(22) GPUTOPO_CASE(23) GPUTOPO_PAUSE
  GPUTOPO_CASE(24) GPUTOPO_CASE(25) GPUTOPO_CASE(26) GPUTOPO_CASE(27) GPUTOPO_PAUSE
  GPUTOPO_CASE(28) GPUTOPO_CASE(29) GPUTOPO_CASE(30) GPUTOPO_CASE(31)
done:
  pause_code(seen, begin);
  return value;
}
// clang-format on

__device__ __forceinline__ void run_straight_line(const Task& task, std::uint32_t seed, std::uint32_t* scratch,
                                                  Seen& seen) {
  std::uint32_t value = seed;
#pragma unroll 1
  for (std::uint32_t lap = 0; lap < task.laps; ++lap) value = straight_line(task.units, value, task.loads, seen);
  // Kept alive by a store: this value may well be all ones, so a trap won't do.
  *static_cast<volatile std::uint32_t*>(scratch) = value;
}

#else

__device__ __forceinline__ void run_straight_line(const Task&, std::uint32_t, std::uint32_t*, Seen&) {}

#endif

}  // namespace gputopo::kernels
