#include "device/replay/trace_text.hpp"

#include <gtest/gtest.h>

namespace gputopo::replay {
namespace {

using program::PhaseTrace;
using program::ProgramTrace;

ProgramTrace example_trace() {
  ProgramTrace trace;
  trace.phases = {
      {32, 0, {}, {}, {}},           {64, 2432, {}, {}, {}},
      {3, 0, {38, 38, 281}, {}, {}}, {1000000, ~std::uint64_t{0}, {}, {}, {{38, 999000}, {39, 999}, {701, 1}}},
      {0, 0, {}, {}, {{0, 5}}},      {6, 0, {}, {1094, ~std::uint64_t{0}, 0}, {}}};
  return trace;
}

TEST(TraceText, TracesComeBack) {
  std::size_t budget = 100;
  const auto phases = decode_phases(encode_phases(example_trace()), budget);
  ASSERT_TRUE(phases);
  EXPECT_EQ(*phases, example_trace().phases);
}

TEST(TraceText, WarmUpsTakeThreeCharacters) {
  ProgramTrace trace;
  trace.phases = {{31, 0, {}, {}, {}}};
  EXPECT_EQ(encode_phases(trace), "f,A");
}

TEST(TraceText, TheBudgetBoundsAllPhasesTogether) {
  constexpr std::size_t a_phase = (sizeof(PhaseTrace) + 7) / 8, a_bin = 2;
  constexpr std::size_t needed = 6 * a_phase + 3 + 4 * a_bin + 3;  // phases, latencies, bins, laps
  std::size_t enough = needed;
  EXPECT_TRUE(decode_phases(encode_phases(example_trace()), enough));
  EXPECT_EQ(enough, 0U);
  std::size_t short_by_one = needed - 1;
  EXPECT_FALSE(decode_phases(encode_phases(example_trace()), short_by_one));
}

TEST(TraceText, BrokenTracesAreRefused) {
  for (const char* bad : {"A", ",", "A,", "A,A,x", "A,A,,A", "A,A,,AAA", "A,A,,AAAA", "A,AA", "?,A", "A,A;;A,A",
                          "A,A,,,x", "A,A,,,+A,A"}) {
    std::size_t budget = 100;
    EXPECT_FALSE(decode_phases(bad, budget)) << bad;
  }
}

TEST(TraceText, InterruptionsComeBack) {
  for (const program::Interruptions& seen :
       {program::Interruptions{}, {3, 7'650'000, 1.9781234567890123}, {0, 0, 1.98}, {~0U, ~std::uint64_t{0}, 1e-300}}) {
    const auto back = decode_interruptions(encode_interruptions(seen));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, seen);
  }
  EXPECT_EQ(encode_interruptions({}), "");
}

TEST(TraceText, BrokenInterruptionsAreRefused) {
  for (const char* bad :
       {"1", "1,2", "1,2,", "1,2,3,4", "-1,2,3", "1,2,-3", "1,2,nan", "1,2,inf", "4294967296,2,3", " "})
    EXPECT_FALSE(decode_interruptions(bad)) << bad;
}

}  // namespace
}  // namespace gputopo::replay
