// Levels of latency in histograms made by hand.
#include "evidence/inference/modes.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

TEST(Modes, OfNoLoadsAreNone) {
  EXPECT_TRUE(modes_of({}).empty());
  EXPECT_EQ(lowest_mode({}).share, 0);
}

TEST(Modes, OfOneLatencyAreOne) {
  const Histogram one{{200, 50}};
  const auto modes = modes_of(one);
  ASSERT_EQ(modes.size(), 1U);
  EXPECT_EQ(modes[0].median, 200);
  EXPECT_EQ(modes[0].centre, 200);
  EXPECT_EQ(modes[0].share, 1);
}

TEST(Modes, NearAndFarAreTwoWithTheirShares) {
  const Histogram two{{199, 10}, {200, 40}, {201, 10}, {299, 5}, {300, 10}, {301, 5}};
  const auto modes = modes_of(two);
  ASSERT_EQ(modes.size(), 2U);
  EXPECT_EQ(modes[0].median, 200);
  EXPECT_EQ(modes[1].median, 300);
  EXPECT_NEAR(modes[0].share, 60.0 / 80, 1e-9);
  EXPECT_NEAR(modes[1].share, 20.0 / 80, 1e-9);
  EXPECT_EQ(lowest_mode(two).median, 200);
}

TEST(Modes, ABroadLevelIsOne) {
  Histogram broad;
  for (std::uint32_t c = 190; c <= 210; ++c)
    broad.push_back({c, 21 - static_cast<std::uint64_t>(c > 200 ? c - 200 : 200 - c)});
  EXPECT_EQ(modes_of(broad).size(), 1U);
}

TEST(Modes, AFewOutliersAreNoLevel) {
  const Histogram outliers{{200, 500}, {201, 480}, {700, 2}, {900, 1}};
  const auto modes = modes_of(outliers);
  ASSERT_EQ(modes.size(), 1U);
  EXPECT_NEAR(modes[0].median, 200, 1);
}

TEST(Modes, TheCentreIsFinerThanTheMedianAndLeavesOutliersOut) {
  // 60 loads of 100 and 40 of 101 cycles: their mean is 100.4; one of 500 would make it 104.4.
  const Histogram h{{100, 60}, {101, 40}, {500, 1}};
  const auto modes = modes_of(h);
  ASSERT_EQ(modes.size(), 1U);
  EXPECT_EQ(modes[0].median, 100);
  EXPECT_NEAR(modes[0].centre, 100.4, 1e-9);
}

TEST(Modes, JitterMakesNoLevelsOfItsOwn) {
  // Two levels of seven cycles each, flat, 60 cycles apart.
  Histogram jittered;
  for (std::uint32_t c = 97; c <= 103; ++c) jittered.push_back({c, 10});
  for (std::uint32_t c = 157; c <= 163; ++c) jittered.push_back({c, 30});
  const auto modes = modes_of(jittered);
  ASSERT_EQ(modes.size(), 2U);
  EXPECT_NEAR(modes[0].centre, 100, 1e-9);
  EXPECT_NEAR(modes[1].centre, 160, 1e-9);
  EXPECT_NEAR(modes[0].share, 0.25, 1e-9);
}

// Two peaks of seven cycles, 20 cycles apart, with `between` loads a cycle in the valley for 30 on the peaks.
Histogram valley(std::uint64_t between) {
  Histogram h;
  for (std::uint32_t c = 97; c <= 123; ++c) h.push_back({c, c <= 103 || c >= 117 ? 30 : between});
  return h;
}

TEST(Modes, ArePartedWhereTheValleyIsLessThanHalfAPeak) {
  EXPECT_EQ(modes_of(valley(6)).size(), 2U);
  EXPECT_EQ(modes_of(valley(22)).size(), 1U);
}

TEST(Modes, ALevelHasToHoldTheShareThatIsAskedFor) {
  const Histogram tenth{{100, 90}, {200, 10}};
  EXPECT_EQ(modes_of(tenth, 0.05).size(), 2U);
  EXPECT_EQ(modes_of(tenth, 0.2).size(), 1U);
}

TEST(Modes, OneSlowHitBelowAFewMissesIsNoLevel) {
  // One of sixteen is more than a share of 5 %.
  EXPECT_EQ(lowest_mode(Histogram{{327, 1}, {364, 15}}).median, 364);
  EXPECT_EQ(lowest_mode(Histogram{{264, 2}, {364, 14}}).median, 364);
  EXPECT_EQ(lowest_mode(Histogram{{264, 6}, {364, 10}}).median, 264);
}

// Of a faster level's loads as many are among these by strangers as are expected.
TEST(Modes, ExpectedStrangersAreNoLevel) {
  const Histogram slow{{148, 1}, {184, 1}, {207, 1}, {233, 2}, {245, 3}, {247, 3}, {250, 2}, {336, 67}, {337, 58}};
  EXPECT_LT(lowest_mode(slow).median, 300);
  EXPECT_NEAR(lowest_mode(slow, 15).low_quartile, 336, 1);
}

TEST(Penalty, IsTheLevelLessTheHit) {
  Mode next;
  next.centre = 300.5;
  next.error = 1.5;  // half-width of the mean's 95 % interval
  const Estimate e = penalty_of(next, 60.25, 40);
  EXPECT_EQ(e.value, 240.25);
  EXPECT_EQ(e.interval, (Interval{238.75, 241.75}));
  EXPECT_EQ(e.unit, "cycles");
  EXPECT_EQ(e.samples, 40U);
}

TEST(Penalty, LiesInItsIntervalWhereTheQuartilesAreOneCycle) {
  for (const std::uint32_t other : {99U, 101U}) {
    const Histogram mostly = merged(Histogram{{100, 80}}, Histogram{{other, 20}});
    const Estimate e = penalty_of(lowest_mode(mostly), 40, 100);
    EXPECT_NEAR(*e.value, other == 99 ? 59.8 : 60.2, 1e-9);
    EXPECT_LE(e.interval->low, *e.value);
    EXPECT_GE(e.interval->high, *e.value);
  }
}

}  // namespace
}  // namespace gputopo::evidence
