#include "evidence/levels.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

Histogram around(std::uint32_t cycles, std::uint64_t loads) {
  return {{cycles - 1, loads / 4}, {cycles, loads / 2}, {cycles + 1, loads / 4}};
}

TEST(Levels, PutTheThresholdIntoTheGap) {
  const Levels l = levels_of(around(40, 4000), around(280, 400));
  EXPECT_NEAR(l.threshold_cycles, 160, 2);
  EXPECT_TRUE(l.usable());
  EXPECT_GT(l.told_apart(), 0.99);
}

TEST(Levels, StrangersAreFalseMissesAndMoveNothing) {
  const Levels l = levels_of(merged(around(40, 3800), around(340, 200)), around(280, 400));
  EXPECT_NEAR(l.threshold_cycles, 160, 2);
  EXPECT_NEAR(l.false_miss, 0.05, 0.002);
  EXPECT_TRUE(l.usable());
}

TEST(Levels, ANextLevelATenthSlowerIsToldApart) {
  const Levels l = levels_of(around(111, 1000), around(122, 200));
  EXPECT_GT(l.threshold_cycles, 112);
  EXPECT_LT(l.threshold_cycles, 121);
  EXPECT_TRUE(l.usable());
}

TEST(Levels, OneLevelIsNoTwo) {
  EXPECT_FALSE(levels_of(around(200, 1000), around(200, 200)).usable());
}

TEST(Levels, AFewLoadsDecideNothing) {
  EXPECT_FALSE(levels_of(Histogram{{40, 2}}, Histogram{{280, 1}}).usable());
}

TEST(Levels, GradedThresholdLiesBelowTheNearestLevel) {
  // The weakest eviction still hits, the next finds a level at 130, the strongest one at 400.
  const Levels l = graded_levels(around(40, 1000), {around(40, 100), around(130, 100), around(400, 100)});
  EXPECT_GT(l.threshold_cycles, 42);
  EXPECT_LT(l.threshold_cycles, 129);
  EXPECT_LT(l.false_hit, 0.02);
}

// A sample of the nearest level alone draws the threshold below itself, however many loads of farther ones there are.
TEST(Levels, GradedThresholdIsNotDrawnUpByFartherLevels) {
  const Levels l = graded_levels(around(33, 1000), {around(36, 500), around(96, 5000), around(115, 5000)});
  EXPECT_GT(l.threshold_cycles, 33);
  EXPECT_LT(l.threshold_cycles, 37);
}

}  // namespace
}  // namespace gputopo::evidence
