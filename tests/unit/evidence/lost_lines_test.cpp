// What lines cost that were lost: like estimators of looks and of hits, near lines alone where there are sides.
#include "evidence/lines/lost_lines.hpp"

#include <gtest/gtest.h>

#include "evidence/lines/near_and_far.hpp"

namespace gputopo::evidence {
namespace {

const Levels l1 = levels_of({{38, 300}, {39, 300}, {40, 300}, {41, 300}}, {{240, 1000}});

// Looks of a line that takes from `cycles` to `cycles` + 3, like the hits.
std::vector<std::uint32_t> looks_from(std::uint32_t cycles, std::size_t count = 9) {
  std::vector<std::uint32_t> looks;
  for (std::uint32_t i = 0; i < count; ++i) looks.push_back(cycles + (i * 7 + cycles) % 4);
  return looks;
}

TEST(PenaltyOfLost, HoldsAsManyHitsAgainstTheLooks) {
  for (const std::size_t looks : {3U, 5U, 9U}) {
    const LostBySm lost{LooksByLine(40, looks_from(240, looks))};
    const Estimate e = penalty_of_lost(lost, l1, std::nullopt).penalty;
    ASSERT_EQ(e.status, Status::measured);
    EXPECT_NEAR(*e.value, 202, 1) << looks;
  }
}

// While another program fills the L2 what was lost for sure comes from memory, and the threshold lies half of the way
// there: these lines, which were in the L2, are nearer.
TEST(PenaltyOfLost, IsOfLinesThatAreNearerThanTheThreshold) {
  Levels levels = l1;
  levels.threshold_cycles = 520;
  LooksByLine lines(40, looks_from(240, 7));
  for (std::vector<std::uint32_t>& looks : lines) looks.insert(looks.end(), {1000, 1001, 1003});
  const Estimate e = penalty_of_lost({lines}, levels, std::nullopt).penalty;
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_NEAR(*e.value, 202, 1);
}

// A cache behind may be close: looks below the threshold aren't left out of its misses.
TEST(PenaltyOfLost, KeepsTheFastOnesOfASlowKind) {
  Levels close = l1;
  close.threshold_cycles = 51;
  const LostBySm lost{LooksByLine(40, {49, 50, 51, 52, 50, 51, 49, 52, 50})};
  EXPECT_NEAR(*penalty_of_lost(lost, close, std::nullopt).penalty.value, 11, 0.6);
}

TEST(PenaltyOfLost, CountsNearLinesAlone) {
  LooksByLine lines(20, looks_from(240));
  lines.insert(lines.end(), 60, looks_from(340));
  const Estimate e = penalty_of_lost({lines}, l1, 100.0).penalty;
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_NEAR(*e.value, 202, 1);
}

TEST(PenaltyOfLost, IsOpenWhereAllLinesMayBeFar) {
  LooksByLine lines(20, looks_from(340));
  lines.insert(lines.end(), 20, looks_from(350));
  const Estimate e = penalty_of_lost({lines}, l1, 100.0).penalty;
  EXPECT_EQ(e.status, Status::inconclusive);
  EXPECT_NE(e.note.find("near or far"), std::string::npos);
}

// SMs at different distances, and all lines in one place: the interval holds the mean of them had they lain elsewhere,
// as far off as SMs differ (14 of standard deviation, in 95 % of the places and beyond two of its own errors).
TEST(PenaltyOfLost, ItsIntervalIsThatOfPlaces) {
  LostBySm by_sm;
  for (const std::uint32_t cycles : {220U, 230U, 240U, 250U, 260U}) by_sm.emplace_back(14, looks_from(cycles));
  const Estimate e = penalty_of_lost(by_sm, l1, std::nullopt).penalty;
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_NEAR(*e.value, 202, 1);
  EXPECT_LT(e.interval->low, 202 - 30);
  EXPECT_GT(e.interval->high, 202 + 30);
}

// SMs that find one slice alike say nothing of others, as the next level's own lines do.
TEST(PenaltyOfLost, ItsIntervalHoldsAnyPlaceThatTheNextLevelHas) {
  const LostBySm by_sm(6, LooksByLine(3, looks_from(231)));
  std::vector<double> hits;
  for (int slice = 0; slice <= 20; ++slice) hits.push_back(200 + slice);  // 210 on average
  EXPECT_LT(penalty_of_lost(by_sm, l1, std::nullopt).penalty.interval->high, 200);
  const Estimate e = penalty_of_lost(by_sm, l1, std::nullopt, hits, Places::one).penalty;
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_NEAR(e.interval->high, *e.value + 10, 1);
  EXPECT_NEAR(e.interval->low, *e.value - 10, 1);
}

TEST(PenaltyOfLost, LinesOfTwoLevelsHaveNoMean) {
  const LostBySm by_sm{LooksByLine(14, looks_from(240)), LooksByLine(14, looks_from(241)),
                       LooksByLine(14, looks_from(500))};
  const Estimate e = penalty_of_lost(by_sm, l1, std::nullopt).penalty;
  EXPECT_EQ(e.status, Status::inconclusive);
  EXPECT_NE(e.note.find("another level"), std::string::npos);
}

// Slices at two distances: what the next level's own lines differ by says nothing of a level between.
TEST(PenaltyOfLost, LinesOfOneLevelMayBeOfTwoKinds) {
  const auto of_two = [](std::uint32_t near, std::uint32_t far) {
    LooksByLine lines(30, looks_from(near));
    lines.insert(lines.end(), 30, looks_from(far));
    return LostBySm{lines};
  };
  std::vector<double> slices(100, 270);
  slices.insert(slices.end(), 90, 301);
  const Estimate e = penalty_of_lost(of_two(240, 271), l1, std::nullopt, slices).penalty;
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_NEAR(*e.value, 217.5, 1);
  EXPECT_EQ(penalty_of_lost(of_two(240, 271), l1, std::nullopt).penalty.status, Status::inconclusive);
  EXPECT_EQ(penalty_of_lost(of_two(240, 271), l1, std::nullopt, {270, 271, 272}).penalty.status, Status::inconclusive);
  EXPECT_EQ(penalty_of_lost(of_two(240, 300), l1, std::nullopt, slices).penalty.status, Status::inconclusive);
}

// Of near lines alone near slices tell how far apart these are.
TEST(PenaltyOfLost, OfNearLinesNearSlicesSayHowFarApartTheyAre) {
  LooksByLine lines(20, looks_from(240));
  lines.insert(lines.end(), 20, looks_from(256));
  lines.insert(lines.end(), 40, looks_from(440));
  std::vector<double> slices(100, 280);
  slices.insert(slices.end(), 100, 480);
  EXPECT_EQ(penalty_of_lost({lines}, l1, 190.0, slices).penalty.status, Status::inconclusive);
  slices.insert(slices.end(), 100, 296);
  EXPECT_EQ(penalty_of_lost({lines}, l1, 190.0, slices).penalty.status, Status::measured);
}

TEST(PenaltyOfLost, LinesThatAreAlwaysDelayedHaveNoPartInIt) {
  LooksByLine lines(40, looks_from(240));
  lines.insert(lines.end(), 3, looks_from(900));
  EXPECT_NEAR(*penalty_of_lost({lines}, l1, std::nullopt).penalty.value, 202, 1);
}

TEST(NearAndFar, TwoKindsHaveNothingBetweenThem) {
  const TwoKinds kinds = two_kinds({200, 204, 202, 300, 302, 298, 300});
  EXPECT_EQ(kinds.near, 202);
  EXPECT_EQ(kinds.far, 300);
  EXPECT_EQ(kinds.share_between, 0);
}

TEST(NearAndFar, SpreadSmsAreOnEveryPartOfTheChip) {
  EXPECT_EQ(spread_sms(3, 8), (std::vector<std::uint32_t>{0, 1, 2}));
  const auto sms = spread_sms(132, 8);
  ASSERT_EQ(sms.size(), 8U);
  EXPECT_LT(sms.front(), 16U);
  EXPECT_GE(sms.back(), 115U);
}

}  // namespace
}  // namespace gputopo::evidence
