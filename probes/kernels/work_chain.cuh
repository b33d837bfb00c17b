// Instructions one after another, each waiting for the one before it: one chain a thread for latency, four for rate.
#pragma once

#include "kernels/work_time.cuh"

namespace gputopo::kernels {

// Of an operation: its words, how often it stands in a row in a loop's body, and itself. It must be one that the
// assembler can't fold with the next one, nor foresee.
#define GPUTOPO_OPERATION(name, type, start, in_a_row, text, constraint)               \
  struct name {                                                                        \
    using Word = type;                                                                 \
    static constexpr int count = in_a_row, products = 0;                               \
    static __device__ __forceinline__ type first(std::uint32_t zero) { return start; } \
    static __device__ __forceinline__ void apply(type& x, type& y, int k) {            \
      if (k % 2 == 0)                                                                  \
        asm volatile(text : "+" constraint(x) : constraint(y));                        \
      else                                                                             \
        asm volatile(text : "+" constraint(y) : constraint(x));                        \
    }                                                                                  \
  };

// x and y take turns, so that what is added last is wanted next.
GPUTOPO_OPERATION(integer_add, std::uint32_t, threadIdx.x + zero, 512, "add.u32 %0, %0, %1;", "r")
GPUTOPO_OPERATION(integer_multiply_add, std::uint32_t, threadIdx.x + zero, 512, "mad.lo.u32 %0, %0, %1, %1;", "r")
GPUTOPO_OPERATION(integer_logic, std::uint32_t, threadIdx.x + zero, 512, "lop3.b32 %0, %0, %1, 0x5a5a5a5a, 0xe8;", "r")
GPUTOPO_OPERATION(integer_shift, std::uint32_t, threadIdx.x + zero, 512, "shf.l.wrap.b32 %0, %0, %1, %0;", "r")
GPUTOPO_OPERATION(float_add, float, 1.0F + zero, 512, "add.rn.f32 %0, %0, %1;", "f")
GPUTOPO_OPERATION(float_multiply_add, float, 1.0F + zero, 512, "fma.rn.f32 %0, %0, %1, %1;", "f")
GPUTOPO_OPERATION(half_multiply_add, std::uint32_t, 0x3c003c00U + zero, 512, "fma.rn.f16x2 %0, %0, %1, %1;", "r")
GPUTOPO_OPERATION(double_multiply_add, double, 1.0 + zero, 512, "fma.rn.f64 %0, %0, %1, %1;", "d")
#undef GPUTOPO_OPERATION

// Of one operand.
#define GPUTOPO_OPERATION(name, type, start, in_a_row, text, constraint)               \
  struct name {                                                                        \
    using Word = type;                                                                 \
    static constexpr int count = in_a_row, products = 0;                               \
    static __device__ __forceinline__ type first(std::uint32_t zero) { return start; } \
    static __device__ __forceinline__ void apply(type& x, type& y, int) {              \
      asm volatile(text : "+" constraint(x) : constraint(y));                          \
    }                                                                                  \
  };
GPUTOPO_OPERATION(integer_count_bits, std::uint32_t, threadIdx.x + zero, 256, "popc.b32 %0, %0;", "r")
GPUTOPO_OPERATION(integer_divide, std::uint32_t, 3 + zero, 16, "div.u32 %0, %1, %0;", "r")
GPUTOPO_OPERATION(float_divide, float, 1.0F + zero, 16, "div.rn.f32 %0, %1, %0;", "f")
GPUTOPO_OPERATION(special_reciprocal_root, float, 1.0F + zero, 256, "rsqrt.approx.ftz.f32 %0, %0;", "f")
GPUTOPO_OPERATION(special_exponential, float, 1.0F + zero, 256, "ex2.approx.ftz.f32 %0, %0;", "f")
// There and back again: two conversions.
GPUTOPO_OPERATION(convert, float, 1.0F + zero, 256, "{ .reg .s32 i; cvt.rni.s32.f32 i, %0; cvt.rn.f32.s32 %0, i; }",
                  "f")
GPUTOPO_OPERATION(shuffle, std::uint32_t, threadIdx.x % 32 + zero, 256,
                  "shfl.sync.idx.b32 %0, %0, %0, 0x1f, 0xffffffff;", "r")
#undef GPUTOPO_OPERATION

// Products of halves, summed in single precision, by a warp: the largest that the GPU's tensor cores take at once. PTX
// for any GPU has none, since each generation emulates the older ones'.
#if __CUDA_ARCH__ >= 800
struct tensor_half {
  using Word = float4;
  static constexpr int count = 128, products = 16 * 8 * 16;
  static __device__ __forceinline__ float4 first(std::uint32_t) { return {0, 0, 0, 0}; }
  static __device__ __forceinline__ void apply(float4& x, float4&, int) {
    const std::uint32_t one = 0x3c003c00U;
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
        : "+f"(x.x), "+f"(x.y), "+f"(x.z), "+f"(x.w)
        : "r"(one));
  }
};
#elif __CUDA_ARCH__ >= 750 && !defined(GPUTOPO_PORTABLE)
struct tensor_half {
  using Word = float4;
  static constexpr int count = 128, products = 16 * 8 * 8;
  static __device__ __forceinline__ float4 first(std::uint32_t) { return {0, 0, 0, 0}; }
  static __device__ __forceinline__ void apply(float4& x, float4&, int) {
    const std::uint32_t one = 0x3c003c00U;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%4}, {%0,%1,%2,%3};"
                 : "+f"(x.x), "+f"(x.y), "+f"(x.z), "+f"(x.w)
                 : "r"(one));
  }
};
#elif __CUDA_ARCH__ >= 700 && !defined(GPUTOPO_PORTABLE)
// Each quarter of a warp its own 8 x 8 x 4.
struct tensor_half {
  struct Word {
    float4 a, b;
  };
  static constexpr int count = 128, products = 4 * 8 * 8 * 4;
  static __device__ __forceinline__ Word first(std::uint32_t) { return {}; }
  static __device__ __forceinline__ void apply(Word& x, Word&, int) {
    const std::uint32_t one = 0x3c003c00U;
    asm volatile(
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%8}, {%8,%8}, "
        "{%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(x.a.x), "+f"(x.a.y), "+f"(x.a.z), "+f"(x.a.w), "+f"(x.b.x), "+f"(x.b.y), "+f"(x.b.z), "+f"(x.b.w)
        : "r"(one));
  }
};
__device__ __forceinline__ bool is_marked(const tensor_half::Word& v) {
  return v.a.x + v.a.y + v.a.z + v.a.w + v.b.x + v.b.y + v.b.z + v.b.w == 0.123F;
}
#endif

#if __CUDA_ARCH__ >= 800
// 8 x 8 x 4 products of doubles.
struct tensor_double {
  using Word = double2;
  static constexpr int count = 128, products = 8 * 8 * 4;
  static __device__ __forceinline__ double2 first(std::uint32_t) { return {0, 0}; }
  static __device__ __forceinline__ void apply(double2& x, double2&, int) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};"
                 : "+d"(x.x), "+d"(x.y)
                 : "d"(1.0));
  }
};
#endif

__device__ __forceinline__ bool is_marked(std::uint32_t v) {
  return v == 0x12345678U;
}
__device__ __forceinline__ bool is_marked(float v) {
  return v == 0.123F;
}
__device__ __forceinline__ bool is_marked(double v) {
  return v == 0.123;
}
__device__ __forceinline__ bool is_marked(float4 v) {
  return v.x + v.y + v.z + v.w == 0.123F;
}
__device__ __forceinline__ bool is_marked(double2 v) {
  return v.x + v.y == 0.123;
}

// n0 rounds of Operation::count operations in all chains of a thread. output, for readers: that number, and the
// products of a tensor instruction.
template <typename Operation, int chains>
__device__ __forceinline__ void chain(const WorkArguments& a) {
  constexpr int in_a_row = Operation::count / chains;
  typename Operation::Word x[chains], y[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) x[c] = Operation::first(a.zero), y[c] = Operation::first(a.zero);
  timed(a, [&] {
#pragma unroll 1
    for (std::uint64_t round = 0; round < a.n[0]; ++round)
#pragma unroll
      for (int k = 0; k < in_a_row; ++k)
#pragma unroll
        for (int c = 0; c < chains; ++c) Operation::apply(x[c], y[c], k);
  });
  if (blockIdx.x == 0 && threadIdx.x == 0) a.output[0] = in_a_row * chains, a.output[1] = Operation::products;
  bool marked = false;
#pragma unroll
  for (int c = 0; c < chains; ++c) marked |= is_marked(x[c]) || is_marked(y[c]);
  if (marked && a.zero != 0) *a.sink = 1;
}

}  // namespace gputopo::kernels
