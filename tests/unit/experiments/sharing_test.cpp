#include "experiments/sharing.hpp"

#include <gtest/gtest.h>

namespace gputopo::experiments {
namespace {

SharingTest test_with(const char* verdict) {
  return {"eviction", verdict, 0.5, 100};
}

std::string verdict_over(const std::vector<SharingTest>& tests) {
  return verdict_of(tests);
}

TEST(SharingVerdict, IsWhatAllTestsSay) {
  EXPECT_EQ(verdict_over({test_with("same")}), "same");
  EXPECT_EQ(verdict_over({test_with("same"), test_with("same")}), "same");
  EXPECT_EQ(verdict_over({test_with("apart"), test_with("apart")}), "apart");
}

TEST(SharingVerdict, IsInconclusiveWhereTestsDisagreeOrCannotTell) {
  EXPECT_EQ(verdict_over({test_with("same"), test_with("apart")}), "inconclusive");
  EXPECT_EQ(verdict_over({test_with("same"), test_with("undecided")}), "inconclusive");
  EXPECT_EQ(verdict_over({test_with("undecided")}), "inconclusive");
  EXPECT_EQ(verdict_over({}), "inconclusive");
}

}  // namespace
}  // namespace gputopo::experiments
