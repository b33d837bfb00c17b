#include "evidence/inference/curves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/inference/levels.hpp"

namespace gputopo::evidence {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Curves, AShareRisesInSteps) {
  const Series s = share_up_to("loads", std::vector<double>{4, 2, 4, 8});
  EXPECT_EQ(s.label, "loads");
  EXPECT_THAT(s.points,
              ElementsAre(Pair(2, 0), Pair(2, 0.25), Pair(4, 0.25), Pair(4, 0.75), Pair(8, 0.75), Pair(8, 1)));
}

TEST(Curves, ALatencyIsLessWhatItsClockTakes) {
  EXPECT_THAT(share_up_to("loads", Histogram{{50, 1}, {60, 1}}, 20).points,
              ElementsAre(Pair(30, 0), Pair(30, 0.5), Pair(40, 0.5), Pair(40, 1)));
}

// Whatever the numbers, a few hundred points, from none to all of them.
TEST(Curves, ManyNumbersTakeFewPoints) {
  std::vector<double> numbers;
  for (int i = 0; i < 100'000; ++i) numbers.push_back(i);
  const Series s = share_up_to("loads", numbers);
  EXPECT_LE(s.points.size(), 202U);
  EXPECT_EQ(s.points.front(), (std::pair<double, double>{0, 0}));
  EXPECT_EQ(s.points.back(), (std::pair<double, double>{99'999, 1}));
  for (const auto& [x, share] : s.points) EXPECT_NEAR(share, x / 1e5, 0.006);
}

TEST(Curves, OfManySmsTheFirstOnesAndBothControlsAreDrawn) {
  std::vector<Asked> asked;
  for (std::uint32_t sm = 0; sm < 20; ++sm) asked.push_back({sm, {{sm + 1, 0.5}}, 1, 0});
  const DecidingCurve curve = asked_curve("l1", "scope", "SM", share_of_lines_lost, asked);
  ASSERT_EQ(curve.series.size(), most_series);
  EXPECT_EQ(curve.series.front().label, "SM 0 to each other one");
  EXPECT_THAT(curve.series[6].points, ElementsAre(Pair(0, 1), Pair(20, 1)));
  EXPECT_THAT(curve.series[7].points, ElementsAre(Pair(0, 0), Pair(20, 0)));
}

TEST(Curves, WhatIsLostToOthersBeginsWithNothingInBetween) {
  DecidingCurve curve = lost_to_curve("texture", "physical_cache");
  const std::vector<Tally> none{{100, 1}}, all{{100, 90}, {100, 80}};
  add_lost_to(curve, {"l1 to texture", 4096, all}, none);
  ASSERT_EQ(curve.series.size(), 1U);
  EXPECT_THAT(curve.series.front().points, ElementsAre(Pair(0, 0.01), Pair(4096, 0.9), Pair(4096, 0.8)));
}

TEST(Curves, TheThresholdOfLevelsIsWhereTheyChange) {
  const Levels levels = levels_of(Histogram{{40, 100}}, Histogram{{400, 100}});
  const DecidingCurve curve = curve_of(levels);
  EXPECT_EQ(curve.quantity, "levels");
  ASSERT_TRUE(curve.change);
  EXPECT_EQ(*curve.change, levels.threshold_cycles);
  EXPECT_EQ(curve.series.size(), 2U);
}

}  // namespace
}  // namespace gputopo::evidence
