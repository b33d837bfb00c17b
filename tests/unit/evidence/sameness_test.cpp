#include "evidence/inference/sameness.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

TEST(Sameness, FollowsTheControls) {
  EXPECT_TRUE(sameness({1000, 270}, {1000, 265}, {1000, 1}).is_same());
  EXPECT_TRUE(sameness({1000, 2}, {1000, 265}, {1000, 1}).is_apart());
}

TEST(Sameness, BetweenBothIsUndecided) {
  EXPECT_FALSE(sameness({1000, 130}, {1000, 265}, {1000, 1}).decided);
}

TEST(Sameness, ControlsThatDontDifferDecideNothing) {
  EXPECT_FALSE(sameness({1000, 265}, {1000, 265}, {1000, 240}).decided);
}

TEST(Sameness, FewLoadsDecideLess) {
  EXPECT_FALSE(sameness({3, 1}, {3, 1}, {3, 0}).decided && sameness({3, 1}, {3, 1}, {3, 0}).is_apart());
  EXPECT_FALSE(sameness({0, 0}, {1000, 265}, {1000, 1}).decided);
}

TEST(Sameness, MissingMoreThanTheControlIsTheSame) {
  EXPECT_TRUE(sameness({1000, 600}, {1000, 265}, {1000, 1}).is_same());
}

// Five lines of a cache that replaces at random: three of them went without anybody's doing, as many as went here.
TEST(Sameness, IsOpenWhereControlsMayDifferByChance) {
  EXPECT_FALSE(sameness({5, 3}, {5, 5}, {5, 3}).decided);
  EXPECT_TRUE(sameness({5, 5}, {5, 5}, {5, 0}).is_same());
  EXPECT_TRUE(sameness({5, 0}, {5, 5}, {5, 0}).is_apart());
  EXPECT_TRUE(sameness({500, 300}, {500, 500}, {500, 300}).is_apart());
}

// A cache in one of two states loses a quarter of the lines or a half, in the control as well.
TEST(SamenessOfReplicates, GoesByWhatRunsDifferBy) {
  const Replicates mixed{{1000, 250}, {1000, 500}, {1000, 490}, {1000, 500}};
  const Replicates none(4, {1000, 1});
  EXPECT_FALSE(sameness({4000, 1040}, {4000, 1740}, {4000, 4}).is_same());
  EXPECT_TRUE(sameness(Replicates{{1000, 250}, {1000, 255}, {1000, 290}, {1000, 500}}, mixed, none).is_same());
  EXPECT_TRUE(sameness(none, mixed, none).is_apart());
}

TEST(SamenessOfReplicates, OfRunsThatAgreeIsThatOfAllLoads) {
  const Replicates all(4, {250, 66}), none(4, {250, 0});
  EXPECT_EQ(sameness(all, all, none).probability, sameness({1000, 264}, {1000, 264}, {1000, 0}).probability);
}

// Code that constants push out of a cache of 128 KiB: all but a few lines, as other code does but for fewer.
TEST(Sameness, OfAShareAsNearToAControlsAsWalksVaryIsNoThirdKind) {
  EXPECT_TRUE(sameness({768, 754}, {768, 763}, {768, 31}).is_same());
  EXPECT_TRUE(sameness({768, 20}, {768, 763}, {768, 6}).is_apart());
  EXPECT_FALSE(sameness({768, 640}, {768, 763}, {768, 31}).decided);
}

}  // namespace
}  // namespace gputopo::evidence
