// One dependent load through each path. Every result is consumed by a conditional trap: without a use that the
// assembler can't remove, warm-up loads vanish from the machine code and every timed load then misses.
#pragma once

#include <cstdint>

#include "kernels/chase_abi.hpp"

namespace gputopo::kernels {

// Same order as program::Path; the host checks that.
enum PathCode : std::uint32_t {
  path_global_cached = 0,
  path_global_l2_only = 1,
  path_global_no_allocate = 2,
  path_read_only = 3,
  path_texture = 4,
  path_constant = 5,
  path_shared = 6,
  path_instruction = 7,
  path_global_store = 8,
};

enum RecordCode : std::uint32_t {
  record_nothing = 0,
  record_lap_time = 1,
  record_histogram = 2,
  record_latencies = 3,
  record_lap_times = 4,
};

__constant__ std::uint32_t bank[16384];

// From Volta on plain loads are cached in L1 like .ca ones, and they are weak: in loops of strong loads the assembler
// puts a YIELD, which costs the chase more than a hit's latency.
#if __CUDA_ARCH__ >= 700
#define GPUTOPO_LOAD_CACHED "ld.global"
#else
#define GPUTOPO_LOAD_CACHED "ld.global.ca"
#endif

__device__ __forceinline__ std::uint32_t read_clock() {
  std::uint32_t cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

__device__ __forceinline__ std::uint32_t read_sm() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

// The same where it was read before a walk. On GPUs of compute capability 10 and later a walk has no register for it,
// and what is spilled passes L1.
__device__ __forceinline__ std::uint32_t read_sm_again([[maybe_unused]] std::uint32_t sm) {
#if __CUDA_ARCH__ >= 1000
  return read_sm();
#else
  return sm;
#endif
}

// No buffer ever holds all ones, so the trap never fires.
__device__ __forceinline__ void consume(std::uint32_t value) {
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 0xffffffff; @p trap; }" ::"r"(value) : "memory");
}

// A zero that the compiler can't know, made of `value`: orders a load after whatever made `value`.
__device__ __forceinline__ std::uint32_t opaque_zero(std::uint32_t value, std::uint32_t zero) {
  return value & zero;
}

/// Where a load goes: a global or shared address, or an element of the texture or of the constant bank.
struct Place {
  std::uint64_t address;
  std::uint64_t texture;
};

template <std::uint32_t path>
__device__ __forceinline__ std::uint32_t load(const Place& place) {
  std::uint32_t value = 0;
  if constexpr (path == path_global_cached) {
    asm volatile(GPUTOPO_LOAD_CACHED ".u32 %0, [%1];" : "=r"(value) : "l"(place.address) : "memory");
  } else if constexpr (path == path_global_l2_only) {
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(place.address) : "memory");
  } else if constexpr (path == path_global_no_allocate) {
#if __CUDA_ARCH__ >= 700
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(value) : "l"(place.address) : "memory");
#endif
  } else if constexpr (path == path_read_only) {
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(place.address) : "memory");
  } else if constexpr (path == path_texture) {
    const std::uint32_t element = static_cast<std::uint32_t>(place.address);
    asm volatile("{ .reg .u32 a, b, c; tex.1d.v4.u32.s32 {%0, a, b, c}, [%1, {%2}]; }"
                 : "=r"(value)
                 : "l"(place.texture), "r"(element)
                 : "memory");
  } else if constexpr (path == path_constant) {
    // An array index, not a pointer: through a pointer the compiler emits a global load from sm_90 on.
    value = bank[static_cast<std::uint32_t>(place.address)];
  } else {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(static_cast<std::uint32_t>(place.address)) : "memory");
  }
  return value;
}

/// The place of byte `offset` of a buffer that starts at `buffer`.
template <std::uint32_t path>
__device__ __forceinline__ Place place_of(std::uint64_t buffer, std::uint64_t texture, std::uint64_t offset) {
  if constexpr (path == path_texture || path == path_constant) return {offset >> 2, texture};
  return {buffer + offset, texture};
}

#define GPUTOPO_FOLLOW_WIDE(instruction) asm volatile(instruction ".u64 %0, [%0];" : "+l"(at)::"memory")
#define GPUTOPO_FOLLOW_NARROW(instruction)                                                      \
  asm volatile("{ .reg .u64 place; mov.b64 place, {%0, %1}; " instruction ".u32 %0, [place]; }" \
               : "+r"(at)                                                                       \
               : "r"(high)                                                                      \
               : "memory")
#define GPUTOPO_FOLLOW(instruction)     \
  if constexpr (sizeof(Word) == 8) {    \
    GPUTOPO_FOLLOW_WIDE(instruction);   \
  } else {                              \
    GPUTOPO_FOLLOW_NARROW(instruction); \
  }

template <std::uint32_t path, class Word>
__device__ __forceinline__ Word follow_global(Word at, std::uint32_t high) {
  if constexpr (path == path_global_cached) {
    GPUTOPO_FOLLOW(GPUTOPO_LOAD_CACHED)
  } else if constexpr (path == path_global_l2_only) {
    GPUTOPO_FOLLOW("ld.global.cg")
  } else if constexpr (path == path_global_no_allocate) {
#if __CUDA_ARCH__ >= 700
    GPUTOPO_FOLLOW("ld.global.L1::no_allocate")
#endif
  } else {
    GPUTOPO_FOLLOW("ld.global.nc")
  }
  return at;
}

// Pointer chases: what a load brings is where the next one goes, with no instruction between them. That is an address
// in global memory (whole, or its low half beside a high half that stays) and in shared memory, an offset into the
// constant bank, an element of the texture.
template <std::uint32_t path, class Word>
__device__ __forceinline__ Word follow(Word at, std::uint32_t high, std::uint64_t texture) {
  if constexpr (path == path_texture || path == path_shared) {
    return load<path>({at, texture});
  } else if constexpr (path == path_constant) {
    // Still the array, not a pointer from elsewhere: see load().
    return *reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(bank) + at);
  } else {
    return follow_global<path>(at, high);
  }
}

// Control data comes straight from L2, so that reading it leaves L1 alone.
__device__ __forceinline__ std::uint32_t control_word(const void* address) {
  std::uint32_t value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// Sixteen bytes of it, aligned to as much.
__device__ __forceinline__ uint4 control_quad(const void* address) {
  uint4 quad;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(quad.x), "=r"(quad.y), "=r"(quad.z), "=r"(quad.w)
               : "l"(address)
               : "memory");
  return quad;
}

}  // namespace gputopo::kernels
