// One access of a thread: so many words read, written or added to, by one instruction.
#pragma once

#include <cstdint>
#include <type_traits>

namespace gputopo::kernels {

enum class Where { cached, l2_only, texture, constant, shared };

/// What an access of `width` bytes moves, in registers.
template <int width>
struct Words {
  static constexpr int count = width < 4 ? 1 : width / 4;
  std::uint32_t w[count];
};

__constant__ uint4 stream_bank[4096];

#define GPUTOPO_READ(instruction, letter, place)                                                       \
  if constexpr (width == 1) asm volatile(instruction ".u8 %0, [%1];" : "=r"(v.w[0]) : letter(place));  \
  if constexpr (width == 2) asm volatile(instruction ".u16 %0, [%1];" : "=r"(v.w[0]) : letter(place)); \
  if constexpr (width == 4) asm volatile(instruction ".u32 %0, [%1];" : "=r"(v.w[0]) : letter(place)); \
  if constexpr (width == 8)                                                                            \
    asm volatile(instruction ".v2.u32 {%0, %1}, [%2];" : "=r"(v.w[0]), "=r"(v.w[1]) : letter(place));  \
  if constexpr (width == 16)                                                                           \
    asm volatile(instruction ".v4.u32 {%0, %1, %2, %3}, [%4];"                                         \
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])                              \
                 : letter(place));

#define GPUTOPO_WRITE(instruction, letter, place)                                                                      \
  if constexpr (width == 1) asm volatile(instruction ".u8 [%0], %1;" ::letter(place), "r"(v.w[0]));                    \
  if constexpr (width == 2) asm volatile(instruction ".u16 [%0], %1;" ::letter(place), "r"(v.w[0]));                   \
  if constexpr (width == 4) asm volatile(instruction ".u32 [%0], %1;" ::letter(place), "r"(v.w[0]));                   \
  if constexpr (width == 8)                                                                                            \
    asm volatile(instruction ".v2.u32 [%0], {%1, %2};" ::letter(place), "r"(v.w[0]), "r"(v.w[1]));                     \
  if constexpr (width == 16)                                                                                           \
    asm volatile(instruction ".v4.u32 [%0], {%1, %2, %3, %4};" ::letter(place), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), \
                 "r"(v.w[3]));

template <Where where>
inline constexpr bool in_global_memory = where == Where::cached || where == Where::l2_only;

/// Where an access goes: an address in global or shared memory, else a byte of the texture or of the bank.
template <Where where>
using Place = std::conditional_t<in_global_memory<where>, std::uint64_t, std::uint32_t>;

template <Where where, int width>
__device__ __forceinline__ Words<width> read_words(Place<where> at, std::uint64_t texture) {
  Words<width> v;
  if constexpr (where == Where::cached) {
    GPUTOPO_READ("ld.global", "l", at)
  } else if constexpr (where == Where::l2_only) {
    GPUTOPO_READ("ld.global.cg", "l", at)
  } else if constexpr (where == Where::shared) {
    GPUTOPO_READ("ld.shared", "r", at)
  } else if constexpr (where == Where::texture) {
    std::uint32_t all[4];
    asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                 : "=r"(all[0]), "=r"(all[1]), "=r"(all[2]), "=r"(all[3])
                 : "l"(texture), "r"(at / width));
    for (int i = 0; i < Words<width>::count; ++i) v.w[i] = all[i];
  } else {
    // The array itself: through a pointer from elsewhere this would be a global load. Its elements: of a byte's place
    // the assembler doesn't know that it is a whole one, and loads it word by word.
    if constexpr (width == 16) {
      const uint4 four = stream_bank[at / 16];
      v.w[0] = four.x, v.w[1] = four.y, v.w[2] = four.z, v.w[3] = four.w;
    } else if constexpr (width == 8) {
      const uint2 two = reinterpret_cast<const uint2*>(stream_bank)[at / 8];
      v.w[0] = two.x, v.w[1] = two.y;
    } else {
      v.w[0] = reinterpret_cast<const std::uint32_t*>(stream_bank)[at / 4];
    }
  }
  return v;
}

template <Where where, int width>
__device__ __forceinline__ void write_words(Place<where> at, const Words<width>& v) {
  if constexpr (where == Where::shared) {
    GPUTOPO_WRITE("st.shared", "r", at)
  } else {
    GPUTOPO_WRITE("st.global", "l", at)
  }
}

template <Where where, bool fetches>
__device__ __forceinline__ std::uint32_t add_one(Place<where> at) {
  std::uint32_t old = 0;
  if constexpr (where == Where::shared) {
    if constexpr (fetches)
      asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(old) : "r"(at) : "memory");
    else
      asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory");
  } else {
    if constexpr (fetches)
      asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(at) : "memory");
    else
      asm volatile("red.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
  }
  return old;
}

template <int width>
__device__ __forceinline__ void fold(std::uint32_t& sum, const Words<width>& v) {
#pragma unroll
  for (int i = 0; i < Words<width>::count; ++i) asm volatile("xor.b32 %0, %0, %1;" : "+r"(sum) : "r"(v.w[i]));
}

}  // namespace gputopo::kernels
