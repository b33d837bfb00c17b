// Arithmetic on histograms, worked by hand.
#include "evidence/inference/histogram.hpp"

#include <gmock/gmock.h>

namespace gputopo::evidence {
namespace {

using testing::ElementsAre;

const Histogram example{{10, 2}, {20, 3}, {40, 5}};

TEST(Samples, AreCountedFromAThresholdOn) {
  EXPECT_EQ(total(example), 10U);
  EXPECT_EQ(count_from(example, 20), 8U);
  EXPECT_EQ(count_from(example, 20.5), 5U);
  EXPECT_EQ(count_from(example, 41), 0U);
  EXPECT_EQ(total({}), 0U);
}

TEST(Samples, BetweenIncludesTheLowEndAndLeavesOutTheHigh) {
  EXPECT_EQ(between(example, 20, 40), (Histogram{{20, 3}}));
  EXPECT_TRUE(between(example, 21, 40).empty());
}

TEST(Samples, QuantilesAreValuesThatOccurred) {
  EXPECT_EQ(quantile(example, 0.0), 10);
  EXPECT_EQ(quantile(example, 0.2), 10);
  EXPECT_EQ(quantile(example, 0.5), 20);
  EXPECT_EQ(quantile(example, 0.51), 40);
  EXPECT_EQ(quantile(example, 1.0), 40);
  EXPECT_FALSE(quantile({}, 0.5).has_value());
}

TEST(Samples, MeanWeighsByCount) {
  // (2 x 10 + 3 x 20 + 5 x 40) / 10
  EXPECT_EQ(mean(example), 28);
  EXPECT_FALSE(mean({}).has_value());
}

TEST(Samples, MergedAddsCountsOfEqualLatencies) {
  EXPECT_EQ(merged(example, {{{5, 1}, {20, 1}, {50, 1}}}), (Histogram{{5, 1}, {10, 2}, {20, 4}, {40, 5}, {50, 1}}));
  EXPECT_EQ(merged(example, {}), example);
}

TEST(Samples, ValuesListEveryLoad) {
  EXPECT_THAT(values(Histogram{{10, 2}, {20, 1}}), ElementsAre(10, 10, 20));
}

TEST(Samples, QuantilesPassOverEmptyBins) {
  const Histogram sparse{{10, 0}, {20, 4}, {30, 0}};
  EXPECT_EQ(quantile(sparse, 0.0), 20);
  EXPECT_EQ(quantile(sparse, 1.0), 20);
}

TEST(Samples, MedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace gputopo::evidence
