#include "evidence/tlb_levels.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

std::vector<std::uint64_t> places(std::size_t count) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(2 + i);
  return all;
}

TEST(Plateaus, AreRunsThatAgreeAndWhatLiesBetweenThemIsNone) {
  const auto all = plateaus_of(places(12), {0, 1, 0, 0, 6, 40, 41, 40, 90, 130, 131, 130}, 0.5);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_NEAR(all[0].cycles, 0, 1);
  EXPECT_NEAR(all[1].cycles, 40, 1);
  EXPECT_NEAR(all[2].cycles, 130, 1);
  EXPECT_EQ(all[0].to, 5U);
  EXPECT_EQ(all[1].from, 7U);
  EXPECT_EQ(all[1].to, 9U);
  EXPECT_EQ(all[2].from, 11U);
}

TEST(Plateaus, AreNoneWhereNothingRises) {
  EXPECT_EQ(plateaus_of(places(8), {0, 1, 0, -1, 0, 1, 0, 0}, 0.5).size(), 1U);
}

TEST(Plateaus, DontBeginWithinTheNoise) {
  EXPECT_EQ(plateaus_of(places(8), {0, 0, 0, 0, 9, 9, 9, 9}, 3).size(), 1U);
  EXPECT_EQ(plateaus_of(places(8), {0, 0, 0, 0, 9, 9, 9, 9}, 0.5).size(), 2U);
}

}  // namespace
}  // namespace gputopo::evidence
