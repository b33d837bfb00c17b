#include "evidence/translation/tlb_levels.hpp"

#include <gtest/gtest.h>

#include "evidence/translation/pages.hpp"

namespace gputopo::evidence {
namespace {

std::vector<std::uint64_t> places(std::size_t count) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(2 + i);
  return all;
}

std::vector<Plateau> plateaus(const std::vector<double>& cycles, double noise_cycles) {
  const auto all = places(cycles.size());
  return plateaus_of({all, cycles, 0, noise_cycles, 0});
}

TEST(Plateaus, AreRunsThatAgreeAndWhatLiesBetweenThemIsNone) {
  const auto all = plateaus({0, 1, 0, 0, 6, 40, 41, 40, 90, 130, 131, 130}, 0.5);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_NEAR(all[0].cycles, 0, 1);
  EXPECT_NEAR(all[1].cycles, 40, 1);
  EXPECT_NEAR(all[2].cycles, 130, 1);
  EXPECT_EQ(all[0].to, 5U);
  EXPECT_EQ(all[1].from, 7U);
  EXPECT_EQ(all[1].to, 9U);
  EXPECT_EQ(all[2].from, 11U);
}

// A first level of few entries, and a first look that says something else.
TEST(Plateaus, BeginWhereNothingIsLost) {
  const auto few = plateaus({0, 10, 10, 11, 10, 50, 51, 50}, 0.5);
  ASSERT_EQ(few.size(), 3U);
  EXPECT_EQ(few[0].to, 2U);
  const auto odd = plateaus({5, 0, 1, 0, 10, 10, 11, 10}, 0.5);
  ASSERT_EQ(odd.size(), 2U);
  EXPECT_NEAR(odd[0].cycles, 0, 1);
  EXPECT_NEAR(odd[1].cycles, 10, 1);
}

TEST(Plateaus, AreNoneWhereNothingRises) {
  EXPECT_EQ(plateaus({0, 1, 0, -1, 0, 1, 0, 0}, 0.5).size(), 1U);
}

TEST(Plateaus, DontBeginWithinTheNoise) {
  EXPECT_EQ(plateaus({0, 0, 0, 0, 9, 9, 9, 9}, 3).size(), 1U);
  EXPECT_EQ(plateaus({0, 0, 0, 0, 9, 9, 9, 9}, 0.5).size(), 2U);
}

TlbLevels three_levels() {
  TlbLevels found;
  found.plateaus = {{0, 2, 13, 0}, {10, 15, 1878, 0}, {100, 2048, 7512, 0}};
  found.noise_cycles = 0.5;
  return found;
}

// With one time between the last two of them.
std::size_t sure_with(double cycles, double error_cycles, double asked_again) {
  const TlbLevels found = three_levels();
  const std::vector<PlaceTime> times{{13, 0, 0.5}, {100, 10, 0.5}, {1878, cycles, error_cycles}, {4096, 100, 0.5}};
  const auto sure = surely_in_a_row(found, times, [&](std::uint64_t places) -> Expected<std::vector<PlaceTime>> {
    EXPECT_EQ(places, 1878U);
    return std::vector<PlaceTime>{{places, 10, 0.5}, {places, asked_again, error_cycles}};
  });
  return sure.value();
}

TEST(Plateaus, AreInARowUnlessTimesBetweenRecur) {
  EXPECT_EQ(sure_with(50, 0.5, 50), 2U);
  EXPECT_EQ(sure_with(50, 0.5, 10), 3U);
  EXPECT_EQ(sure_with(14, 0.5, 14), 2U);
}

// Of several numbers of places each is asked again.
TEST(Plateaus, AreInARowUnlessOneOfSeveralTimesBetweenRecurs) {
  const std::vector<PlaceTime> times{{13, 0, 0.5}, {1500, 50, 0.5}, {1878, 50, 0.5}, {4096, 100, 0.5}};
  const auto sure_where = [&](std::uint64_t recurs) {
    return surely_in_a_row(three_levels(), times,
                           [&](std::uint64_t places) -> Expected<std::vector<PlaceTime>> {
                             return std::vector<PlaceTime>{{places, places == recurs ? 50.0 : 10.0, 0.5}};
                           })
        .value();
  };
  EXPECT_EQ(sure_where(0), 3U);
  EXPECT_EQ(sure_where(1500), 2U);
  EXPECT_EQ(sure_where(1878), 2U);
}

// Five looks of a level that differ by as much as hits and misses do needn't have that level's mean.
TEST(Plateaus, ArentPartedByFewLooks) {
  EXPECT_EQ(sure_with(14, 1.9, 14), 3U);
  EXPECT_EQ(sure_with(50, 1.9, 50), 2U);
}

// Looks of one level differ by as much as losing a translation costs, and those that count as a part of that on either
// side are as many.
TEST(LostTranslations, AreTheShareOfLooksWhereSomeAreLost) {
  std::vector<double> hot, lost;
  for (int i = 0; i < 48; ++i) hot.push_back(i < 20 ? 317 + i % 2 : i < 30 ? 321 : 324 + i % 3);
  for (const double c : hot) lost.push_back(c + 10);
  EXPECT_NEAR(lost_translations(hot, hot, 0, 10).share(), 0, 1e-9);
  EXPECT_NEAR(lost_translations(lost, hot, 0, 10).share(), 1, 1e-9);
  std::vector<double> half(lost);
  for (std::size_t i = 0; i < half.size(); i += 2) half[i] = hot[i];
  EXPECT_NEAR(lost_translations(half, hot, 0, 10).share(), 0.5, 0.05);
  // Some were lost from the next level as well, which is no more than lost.
  std::vector<double> further(lost);
  for (std::size_t i = 0; i < further.size(); i += 2) further[i] += 90;
  EXPECT_NEAR(lost_translations(further, hot, 0, 10).share(), 1, 1e-9);
  // Few cycles are hardly told: the looks count as fewer.
  EXPECT_LT(lost_translations(lost, hot, 0, 10).loads, 40);
  EXPECT_GT(lost_translations(lost, hot, 0, 100).loads, 44);
}

}  // namespace
}  // namespace gputopo::evidence
