// What is held of far more than fits, from looks at evenly spread places.
#include "evidence/held/near_count.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "evidence/held/agreed_size.hpp"
#include "evidence/held/l2_held.hpp"

namespace gputopo::evidence {
namespace {

constexpr double a_mebibyte = 1 << 20;

// Near lines take 280 cycles, far ones 450.
Levels of_two_sides() {
  return levels_of(Histogram{{278, 300}, {280, 400}, {283, 300}}, Histogram{{445, 300}, {450, 400}, {455, 300}});
}

// Places in a row of which the last `held` of all are near, as a cache has them that throws out the oldest.
std::vector<Histogram> by_age(std::size_t places, double held) {
  std::vector<Histogram> looks;
  for (std::size_t i = 0; i < places; ++i)
    looks.push_back(static_cast<double>(i) >= (1 - held) * static_cast<double>(places) ? Histogram{{280, 64}}
                                                                                       : Histogram{{450, 64}});
  return looks;
}

TEST(NearCount, OfLinesThatGoByAgeIsKnownToAPlacesDistance) {
  const NearCount count = near_of(by_age(200, 0.5), of_two_sides(), 1000, 1);
  EXPECT_NEAR(count.held, 500, 3);
  EXPECT_LT(count.scatter, 15);
  EXPECT_LT(count.mistaken, 2);
  EXPECT_EQ(count.samples, 200U * 64);
}

// Of lines that come and go by chance, a place of 64 looks is one line or none.
TEST(NearCount, OfLinesThatGoByChanceScattersAsPlacesDo) {
  std::vector<Histogram> looks;
  for (std::size_t i = 0; i < 200; ++i) looks.push_back(i * 7 % 5 < 2 ? Histogram{{280, 64}} : Histogram{{450, 64}});
  const NearCount count = near_of(looks, of_two_sides(), 1000, 1);
  EXPECT_NEAR(count.held, 400, 3);
  EXPECT_GT(count.scatter, 40);
}

// Where loads lie all the way between the levels, far ones may look near.
TEST(NearCount, OfLevelsThatReachIntoEachOtherMayBeMistaken) {
  const Levels levels = levels_of(Histogram{{270, 200}, {290, 200}, {310, 200}, {330, 200}, {350, 200}},
                                  Histogram{{330, 100}, {350, 200}, {370, 200}, {390, 200}, {410, 300}});
  std::vector<Histogram> looks(100, Histogram{{290, 16}, {330, 16}, {350, 16}, {390, 16}});
  EXPECT_GT(near_of(looks, levels, 1000, 1).mistaken, 20);
}

// A third of the far loads look near, as far as a hundred lines of theirs tell: it may be 45 % of them, and then a
// quarter of all is held where half seemed to be.
TEST(NearCount, IsAsFarOffAsAllThatMayHaveLookedNear) {
  constexpr double held = 0.25, hidden = 0.45;
  Levels levels = of_two_sides();
  levels.threshold_cycles = 300;
  levels.false_hit = 0.36;
  levels.next = Histogram{{290, 324}, {320, 576}};
  const auto far = static_cast<std::uint64_t>(std::lround(10000 * (1 - held) * (1 - hidden)));
  const std::vector<Histogram> looks(200, Histogram{{290, 10000 - far}, {305, far}});
  const NearCount count = near_of(looks, levels, 1000, 1);
  EXPECT_LT(count.held - count.mistaken - count.scatter, 1000 * held);
}

// Loads that the next level was told by were hits in part, and hide a tenth of it.
TEST(NearCount, IsAsFarOffAsAMixtureMayHide) {
  constexpr double held = 0.4, hidden = 0.1;
  Levels levels = of_two_sides();
  levels.threshold_cycles = 300;
  levels.most_false_hit = 0.11;
  const auto far = static_cast<std::uint64_t>(std::lround(10000 * (1 - held) * (1 - hidden)));
  const std::vector<Histogram> looks(200, Histogram{{290, 10000 - far}, {305, far}});
  const NearCount count = near_of(looks, levels, 1000, 1);
  EXPECT_LT(count.held - count.mistaken - count.scatter, 1000 * held);
  EXPECT_GT(count.held + count.mistaken + count.scatter, 1000 * held);
}

TEST(NearCount, MayBeNothingWhereAllThatLooksNearMayBeFar) {
  Levels levels = of_two_sides();
  levels.threshold_cycles = 300;
  levels.false_hit = 0.5;
  levels.false_miss = 0.01;
  levels.next = Histogram{{290, 2}, {320, 2}};
  const NearCount count = near_of(std::vector<Histogram>(200, Histogram{{290, 5}, {305, 5}}), levels, 1000, 1);
  EXPECT_GE(count.mistaken, count.held);
}

// What is known of the next level is a mixture of which most are hits; how far apart the levels lie is the same.
TEST(NearCount, OfLevelsThatLieApartIsNotMistakenForAMixture) {
  Levels levels = of_two_sides();
  levels.false_hit = 0.04;
  levels.next = Histogram{{278, 270}, {280, 360}, {283, 270}, {450, 100}};
  const NearCount count = near_of(by_age(200, 0.5), levels, 1000, 1);
  EXPECT_NEAR(count.held, 500, 3);
  EXPECT_LT(count.mistaken, 2);
}

// Of what lies further on next to nothing was seen where levels were told; how far off they are the hits say.
TEST(NearCount, OfALevelOfWhichNothingWasSeenIsNotMistaken) {
  Levels levels = of_two_sides();
  levels.false_hit = 0.04;
  levels.next = levels.hit;
  const NearCount count = near_of(by_age(200, 0.5), levels, 1000, 1);
  EXPECT_NEAR(count.held, 500, 3);
  EXPECT_LT(count.mistaken, 2);
}

// Far lines at distances in steps, of which some are nearer than the farther ones of what is near: the threshold lies
// in a gap, and a third of the far ones below it all the same.
TEST(NearCount, OfFarLinesInStepsCountsThoseBelowTheGap) {
  const Histogram near{{439, 195}, {440, 55}, {490, 500}}, far{{473, 270}, {485, 80}, {520, 350}, {525, 300}};
  const Levels levels = levels_of(near, far);
  ASSERT_GT(levels.false_hit, 0.3);
  const NearCount count = near_of(std::vector<Histogram>(100, Histogram{{473, 35}, {522, 65}}), levels, 1000, 1);
  EXPECT_LT(count.held - count.scatter - count.mistaken, 30) << "nothing is near";
}

// A footprint that a small side doesn't hold was taken for known hits: those of them that are far were lost, and tell
// nothing of how many near lines look far.
TEST(NearCount, OfKnownHitsThatWereLostIsNoneAdded) {
  Levels levels = of_two_sides();
  levels.false_miss = 0.1;
  levels.hit = {{278, 270}, {280, 360}, {283, 270}, {445, 30}, {450, 40}, {455, 30}};
  const NearCount lost = near_of(by_age(200, 0.5), levels, 1000, 1);
  EXPECT_LE(lost.held - lost.scatter - lost.mistaken, 500);
  EXPECT_GE(lost.held + lost.scatter + lost.mistaken, 500 / 0.9);
  levels.hit = {{278, 270}, {280, 360}, {283, 270}, {400, 30}, {600, 40}, {800, 30}};
  const NearCount slow = near_of(by_age(200, 0.5), levels, 1000, 1);
  EXPECT_NEAR(slow.held, 500 / 0.9, 3) << "what something made slow is near";
  EXPECT_LT(slow.mistaken, 0.5 * lost.mistaken);
}

TEST(NearCount, TwoThatDifferByMoreThanTheyScatterAreUnsteadyWhateverIsMistaken) {
  const NearCount a{1000, 500, 10, 60, 64}, b{2000, 560, 20, 70, 64}, same{2000, 525, 20, 70, 64};
  EXPECT_FALSE(held_by(a, b).steady) << "the same rates are mistaken in both";
  EXPECT_TRUE(held_by(a, same).steady);
}

// Not as certain as two of it would be.
TEST(NearCount, OneIsAsFarOffAsItScattersAndNeverSteady) {
  const Held held = held_by({1000, 500, 10, 2, 64});
  EXPECT_FALSE(held.steady);
  EXPECT_EQ(held.bytes, 500);
  EXPECT_EQ(held.interval.low, 488);
  EXPECT_EQ(held.interval.high, 512);
}

TEST(NearCount, TwoThatAgreeAreTheirMeanAndTwoThatDontAreUnsteady) {
  const NearCount a{1000, 500, 10, 2, 64}, b{2000, 510, 10, 2, 64}, c{3000, 600, 10, 2, 64};
  const Held both = held_by(a, b);
  EXPECT_TRUE(both.steady);
  EXPECT_DOUBLE_EQ(both.bytes, 505);
  EXPECT_LT(both.interval.low, 500);
  EXPECT_GT(both.interval.high, 510);
  EXPECT_FALSE(held_by(a, c).steady);
}

// 1000 held, and of the rest one in ten looks near, though no more than one in fifty was known to.
TEST(NearCount, WhatGrowsWithWhatWasWalkedIsNoneOfTheLeast) {
  const NearCount a{2000, 1100, 5, 20, 64}, b{4000, 1300, 5, 60, 64};
  const Held held = held_by(a, b);
  EXPECT_LT(held.interval.low, 1000);
  EXPECT_GT(held.interval.low, 980) << "but by chance";
  EXPECT_GT(held.interval.high, 1100);
}

// What counts of one H200's side say (64 runs on three cards).
TEST(RoundedCount, IsTheSameForCountsThatHardlyDiffer) {
  for (const double bytes : {30'510'000, 30'600'000, 30'710'000}) EXPECT_EQ(rounded_count(bytes), 29 * 1'048'576);
}

TEST(RoundedCount, IsNoFurtherOffThanA32nd) {
  for (double bytes = 1000; bytes < 5000; bytes += 7) EXPECT_LE(std::fabs(rounded_count(bytes) - bytes), bytes / 32);
}

TEST(NextCount, IsWhatTheDriverSaysWhereThatIsAsNearAsRoundingGoes) {
  Estimate counted;
  counted.value = 58.5 * a_mebibyte;
  counted.interval = Interval{57.9 * a_mebibyte, 59.1 * a_mebibyte};
  const Estimate confirmed = as_next_count(counted, 60 * a_mebibyte);
  EXPECT_EQ(confirmed.value, 60 * a_mebibyte);
  EXPECT_EQ(confirmed.interval->low, 57.9 * a_mebibyte);
  EXPECT_EQ(confirmed.interval->high, 60 * a_mebibyte);
  EXPECT_EQ(confirmed.note, "58.5 MiB were found");
  for (const double nominal : {0.0, 50 * a_mebibyte, 64 * a_mebibyte})
    EXPECT_EQ(as_next_count(counted, nominal).value, 58 * a_mebibyte);
}

TEST(RoundestWithin, IsAMultipleOfTheLargestPowerOfTwo) {
  EXPECT_EQ(roundest_within({30'491'040, 31'184'918}), 59 * 524'288);
  EXPECT_EQ(roundest_within({20'754'269, 21'431'620}), 20 * 1'048'576);
  EXPECT_EQ(roundest_within({3, 3.2}), 3);
}

}  // namespace
}  // namespace gputopo::evidence
