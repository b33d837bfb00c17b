#include "device/replay/trace_text.hpp"

#include <gtest/gtest.h>

namespace gputopo::replay {
namespace {

using program::PhaseTrace;
using program::ProgramTrace;

ProgramTrace example() {
  ProgramTrace trace;
  trace.phases = {{32, 0, {}, {}},
                  {64, 2432, {}, {}},
                  {3, 0, {38, 38, 281}, {}},
                  {1000000, ~std::uint64_t{0}, {}, {{38, 999000}, {39, 999}, {701, 1}}},
                  {0, 0, {}, {{0, 5}}}};
  return trace;
}

TEST(TraceText, TracesComeBack) {
  std::size_t budget = 100;
  const auto phases = decode_phases(encode_phases(example()), budget);
  ASSERT_TRUE(phases);
  EXPECT_EQ(*phases, example().phases);
}

TEST(TraceText, WarmUpsTakeThreeCharacters) {
  ProgramTrace trace;
  trace.phases = {{31, 0, {}, {}}};
  EXPECT_EQ(encode_phases(trace), "f,A");
}

TEST(TraceText, TheBudgetBoundsAllPhasesTogether) {
  std::size_t enough = 5 + 3 + 4;  // phases, latencies, bins
  EXPECT_TRUE(decode_phases(encode_phases(example()), enough));
  EXPECT_EQ(enough, 0U);
  std::size_t short_by_one = 5 + 3 + 4 - 1;
  EXPECT_FALSE(decode_phases(encode_phases(example()), short_by_one));
}

TEST(TraceText, BrokenTracesAreRefused) {
  for (const char* bad : {"A", ",", "A,", "A,A,x", "A,A,,A", "A,A,,AAA", "A,A,,AAAA", "A,AA", "?,A", "A,A;;A,A"}) {
    std::size_t budget = 100;
    EXPECT_FALSE(decode_phases(bad, budget)) << bad;
  }
}

}  // namespace
}  // namespace gputopo::replay
