#include "evidence/inference/vote.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

TEST(Vote, OneLookIsEnoughWhereNothingIsMadeUp) {
  const Vote v = best_vote(5, 1000, 0.05, 1000, 0);
  EXPECT_EQ(v.enough, 1U);
  EXPECT_NEAR(v.wrong, 1000 * 0.05 * 0.05 * 0.05 * 0.05 * 0.05, 1e-9) << "missed by all five";
}

TEST(Vote, AllLooksHaveToAgreeWhereNothingIsHidden) {
  const Vote v = best_vote(3, 1000, 0, 1000, 0.1);
  EXPECT_EQ(v.enough, 3U);
  EXPECT_NEAR(v.wrong, 1, 1e-9);
}

TEST(Vote, TheMajorityDecidesBetweenEquals) {
  EXPECT_EQ(best_vote(5, 100, 0.02, 100, 0.02).enough, 3U);
  EXPECT_GT(best_vote(5, 100, 0.3, 100, 0.3).wrong, 10) << "and says when it can't";
}

}  // namespace
}  // namespace gputopo::evidence
