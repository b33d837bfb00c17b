// Blocks of code, each a line long, that one jump table leads to and that leave at once: a pointer chase for
// instruction fetches. A block's filler is never run; it can't be removed, since nobody but the caller knows that `one`
// isn't zero, nor merged with another block's, since each holds its own number.
#pragma once

#include "kernels/loads.cuh"

namespace gputopo::kernels {

// clang-format off
// Names are octal numbers, label and constant at once. Of sixteen entries of the table, which lie in one line of the
// constant cache, the first leads back to the loop: a jump by it brings the table's line, so that the timed jump that
// follows never waits for the table.
#define GPUTOPO_ROW(M, Z, a, b) Z M(a##1) M(a##2) M(a##3) M(a##4) M(a##5) M(a##6) M(a##7) \
                                  M(b##0) M(b##1) M(b##2) M(b##3) M(b##4) M(b##5) M(b##6) M(b##7)
#define GPUTOPO_ROWS4(M, Z, p) GPUTOPO_ROW(M, Z, p##0, p##1) GPUTOPO_ROW(M, Z, p##2, p##3) \
                               GPUTOPO_ROW(M, Z, p##4, p##5) GPUTOPO_ROW(M, Z, p##6, p##7)
#define GPUTOPO_ROWS32(M, Z, p) GPUTOPO_ROWS4(M, Z, p##0) GPUTOPO_ROWS4(M, Z, p##1) GPUTOPO_ROWS4(M, Z, p##2) \
                                GPUTOPO_ROWS4(M, Z, p##3) GPUTOPO_ROWS4(M, Z, p##4) GPUTOPO_ROWS4(M, Z, p##5) \
                                GPUTOPO_ROWS4(M, Z, p##6) GPUTOPO_ROWS4(M, Z, p##7)
#define GPUTOPO_ROWS(M, Z) GPUTOPO_ROWS32(M, Z, 0) GPUTOPO_ROWS32(M, Z, 01) GPUTOPO_ROWS32(M, Z, 02) GPUTOPO_ROWS32(M, Z, 03)
#define GPUTOPO_LABEL(n) "B" #n ","
#define GPUTOPO_FILLER "mad.lo.u32 %0, %0, %0, %7;\n"
#define GPUTOPO_BLOCK(n) "B" #n ":\n setp.ne.u32 p, %7, 0;\n @p bra after;\n xor.b32 %0, %0, " #n ";\n" \
  GPUTOPO_FILLER GPUTOPO_FILLER GPUTOPO_FILLER GPUTOPO_FILLER GPUTOPO_FILLER
// clang-format on

// A block's first two instructions, all that runs, have to lie in one line: they do where the first block doesn't begin
// at a line's last instruction. A test holds this against the machine code.
#ifdef GPUTOPO_KERNEL_HELD_CODE
#define GPUTOPO_MOVES ((__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000) || __CUDA_ARCH__ >= 1200)
#else
#define GPUTOPO_MOVES (__CUDA_ARCH__ < 800)
#endif
#if GPUTOPO_MOVES
#define GPUTOPO_MOVE "st.shared.u16 [%5], %4;\n"
#else
#define GPUTOPO_MOVE
#endif

#ifdef GPUTOPO_KERNEL_HELD_CODE
/// Who gave up doesn't come back: a second, far longer than any wait.
inline constexpr std::uint32_t longest_hold_cycles = 1U << 31;

/// What a thread that holds code writes where, until which word is how much it waits, and the clock when it was.
struct Hold {
  std::uint32_t* post;
  std::uint32_t* wait;
  std::uint32_t posted, awaited, ended;
};

/// The entry behind the table's last row, which leads to none: at it a thread says that it holds what it brought in, and
/// waits.
inline constexpr std::uint32_t entry_that_holds = code_rows * blocks_in_a_row + 1;

#define GPUTOPO_HOLD_LABEL ", hold"
#define GPUTOPO_HOLD_PARAMETER , Hold& hold
// clang-format off
#define GPUTOPO_HOLD "hold:\n st.volatile.u32 [%10], %11;\n" \
  "wait:\n ld.volatile.u32 took, [%12];\n setp.lt.u32 q, took, %13;\n" \
  "mov.u32 late, %%clock;\n sub.u32 late, late, start;\n setp.lt.and.u32 q, late, %14, q;\n @q bra wait;\n" \
  "mov.u32 %6, %%clock;\n bra after;\n"
// clang-format on
#define GPUTOPO_HOLD_OPERANDS \
  , "l"(hold.post), "r"(hold.posted), "l"(hold.wait), "r"(hold.awaited), "n"(longest_hold_cycles)
#else
#define GPUTOPO_HOLD_LABEL
#define GPUTOPO_HOLD_PARAMETER
#define GPUTOPO_HOLD
#define GPUTOPO_HOLD_OPERANDS
#endif

/// Jumps to the blocks that a list in shared memory names, `count` of them, from `at` on and round and round in
/// [begin, end), and leaves what each took in cycles, 16 bits, at `out` and every `out_step` bytes from there. Ends
/// early when stretch_cycles went by. `one` is 1. Gives how many jumps are left.
__device__ __noinline__ std::uint32_t jump(std::uint32_t begin, std::uint32_t end, std::uint32_t at,
                                           std::uint32_t count, std::uint32_t out, std::uint32_t out_step,
                                           std::uint32_t one GPUTOPO_HOLD_PARAMETER) {
  std::uint32_t value = count;
  std::uint32_t since = read_clock();
  asm volatile(
      "{\n.reg .pred p, q;\n.reg .u32 entry, target, start, took, late;\n"
      "t: .branchtargets " GPUTOPO_ROWS(GPUTOPO_LABEL, "back,") "back" GPUTOPO_HOLD_LABEL ";\n" GPUTOPO_MOVE
                                                                "next:\n"
                                                                "ld.shared.u16 entry, [%3];\n"
                                                                "and.b32 target, entry, 0xfff0;\n"
                                                                "go:\n"
                                                                "brx.idx target, t;\n"
                                                                "back:\n"
                                                                "mov.u32 start, %%clock;\n"
                                                                "mov.u32 target, entry;\n"
                                                                "bra go;\n"
                                                                "after:\n"
                                                                "mov.u32 took, %%clock;\n"
                                                                "sub.u32 late, took, %6;\n"
                                                                "sub.u32 took, took, start;\n"
                                                                "min.u32 took, took, 0xffff;\n"
                                                                "st.shared.u16 [%5], took;\n"
                                                                "add.u32 %5, %5, %8;\n"
                                                                "add.u32 %3, %3, 2;\n"
                                                                "setp.eq.u32 q, %3, %2;\n"
                                                                "@q mov.u32 %3, %1;\n"
                                                                "sub.u32 %4, %4, 1;\n"
                                                                "setp.ne.u32 q, %4, 0;\n"
                                                                "setp.lt.and.u32 q, late, %9, q;\n"
                                                                "@q bra next;\n"
                                                                "bra done;\n" GPUTOPO_ROWS(
                                                                    GPUTOPO_BLOCK, ) "bra after;\n" GPUTOPO_HOLD
                                                                "done:\n}"
      : "+r"(value), "+r"(begin), "+r"(end), "+r"(at), "+r"(count), "+r"(out), "+r"(since)
      : "r"(one), "r"(out_step), "n"(stretch_cycles) GPUTOPO_HOLD_OPERANDS
      : "memory");
  consume(value);
#ifdef GPUTOPO_KERNEL_HELD_CODE
  hold.ended = since;
#endif
  return count;
}

#ifdef GPUTOPO_KERNEL_HELD_CODE
/// The same where none of the entries holds.
__device__ __forceinline__ std::uint32_t jump(std::uint32_t begin, std::uint32_t end, std::uint32_t at,
                                              std::uint32_t count, std::uint32_t out, std::uint32_t out_step,
                                              std::uint32_t one) {
  Hold none{};
  return jump(begin, end, at, count, out, out_step, one, none);
}
#endif

}  // namespace gputopo::kernels
