#include "evidence/sameness.hpp"

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

}  // namespace
}  // namespace gputopo::evidence
