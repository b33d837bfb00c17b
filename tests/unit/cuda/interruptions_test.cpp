#include "device/cuda/interruptions.hpp"

#include <gtest/gtest.h>

namespace gputopo::device::cuda {
namespace {

using kernels::Gap;

// 2 cycles a ns throughout.
Stint stint(std::uint32_t sm, std::uint64_t begin_ns, std::uint64_t end_ns) {
  return {sm, begin_ns, end_ns, 2 * begin_ns, 2 * end_ns};
}

Gap gap(std::uint32_t sm, std::uint64_t begin_ns, std::uint64_t end_ns) {
  return {begin_ns, end_ns, 2 * (end_ns - begin_ns), sm, 0};
}

TEST(Interruptions, AreNoneWhereNoGapWasSeen) {
  const auto seen = interruptions_of({stint(0, 1000, 1'001'000)}, {});
  EXPECT_EQ(seen.switches, 0U);
  EXPECT_EQ(seen.away_ns, 0U);
  EXPECT_DOUBLE_EQ(seen.cycles_per_ns, 2.0);
}

TEST(Interruptions, AreGapsBetweenTheFirstLoadAndTheLast) {
  const std::vector<Gap> gaps{gap(0, 0, 1000), gap(0, 5'000, 7'000), gap(0, 8'000, 9'500), gap(0, 10'000, 12'000)};
  const auto seen = interruptions_of({stint(0, 1000, 10'000)}, gaps);
  EXPECT_EQ(seen.switches, 2U) << "what ends before the program or begins after it is none of its own";
  EXPECT_EQ(seen.away_ns, 3'500U);
}

TEST(Interruptions, OfAllSmsTogetherAreOneSwitch) {
  const std::vector<Gap> gaps{gap(3, 4'010, 6'000), gap(0, 4'000, 5'990), gap(7, 4'500, 6'010)};
  const auto seen = interruptions_of({stint(0, 1000, 9'000), stint(3, 2000, 8'000), stint(7, 1000, 7'000)}, gaps);
  EXPECT_EQ(seen.switches, 1U);
  EXPECT_EQ(seen.away_ns, 2'010U);
}

// SM 0 hands its turn to SM 1; the GPU goes away in between, where only the block that waits can see it.
TEST(Interruptions, CountBetweenThePhasesOfAProgram) {
  const auto seen = interruptions_of({stint(0, 1000, 2000), stint(1, 900'000, 1'000'000)}, {gap(1, 2'100, 899'000)});
  EXPECT_EQ(seen.switches, 1U);
  EXPECT_EQ(seen.away_ns, 896'900U);
}

TEST(Interruptions, LeaveGapsOutOfTheClock) {
  Gap stopped = gap(0, 200'000, 2'700'000);
  stopped.cycles = 187;  // the clock may stand still meanwhile, or run on
  Stint whole{0, 0, 3'000'000, 0, 2 * 500'000 + 187};
  EXPECT_DOUBLE_EQ(interruptions_of({whole}, {stopped}).cycles_per_ns, 2.0);
  EXPECT_DOUBLE_EQ(interruptions_of({stint(0, 0, 3'000'000)}, {gap(0, 200'000, 2'700'000)}).cycles_per_ns, 2.0);
  EXPECT_DOUBLE_EQ(interruptions_of({whole}, {stopped, stopped}).cycles_per_ns, 2.0) << "two blocks on one SM";
}

TEST(Interruptions, SayNothingOfTheClockOfAShortProgram) {
  EXPECT_EQ(interruptions_of({stint(0, 0, 99'999)}, {}).cycles_per_ns, 0);
  EXPECT_EQ(interruptions_of({}, {gap(0, 0, 1)}).switches, 0U);
}

}  // namespace
}  // namespace gputopo::device::cuda
