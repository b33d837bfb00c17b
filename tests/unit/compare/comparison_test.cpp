#include "compare/comparison.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.hpp"

namespace gputopo::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Comparison compared(const std::vector<Topology>& gpus, const Options& options = {}) {
  auto result = compare(gpus, options);
  EXPECT_TRUE(result) << result.error().message;
  return result.value_or(Comparison{});
}

Topology with_latency(double value, Interval interval) {
  Topology t = sample();
  t.memories.front().attributes["latency"] = measured(value, "cycles", interval);
  return t;
}

TEST(Compare, EqualGpusDoNotDiffer) {
  const Comparison result = compared({sample(), sample(), sample()});
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_THAT(result.compared, Contains("l2.latency"));
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST(Compare, IntervalsThatOverlapAgreeWhateverTheirDigits) {
  EXPECT_THAT(compared({sample(), with_latency(283.7, {281.9, 285})}).differences, IsEmpty());
}

TEST(Compare, IntervalsApartDiffer) {
  const Comparison result = compared({sample(), with_latency(300, {299, 301})});
  ASSERT_NE(difference_of(result, "l2.latency"), nullptr);
  EXPECT_EQ(result.differences.size(), 1U);
}

TEST(Compare, TimesHaveATolerance) {
  const Topology slower = with_latency(286, {285, 287});  // 1.06 % from 282 to 285
  EXPECT_EQ(compared({sample(), slower}).differences.size(), 1U);
  EXPECT_THAT(compared({sample(), slower}, {2, {}}).differences, IsEmpty());
  const Topology slightly = with_latency(284, {283, 285});
  EXPECT_THAT(compared({sample(), slightly}).differences, IsEmpty());
  EXPECT_EQ(compared({slightly, sample()}, {0, {}}).differences.size(), 1U);
}

// A number that isn't equal to itself leaves nobody without a side.
TEST(Compare, EndsWhateverTheTolerance) {
  const Comparison result = compared({sample(), sample()}, {std::nan(""), {}});
  ASSERT_NE(difference_of(result, "l2.latency"), nullptr);
  EXPECT_EQ(difference_of(result, "l2.latency")->sides.size(), 2U);
}

TEST(Compare, CountsAndSizesHaveNone) {
  Topology one_less = sample();
  one_less.gpu.sm_count = 1000;
  Topology full = sample();
  full.gpu.sm_count = 1001;
  EXPECT_NE(difference_of(compared({one_less, full}, {50, {}}), "gpu.sm_count"), nullptr);
}

TEST(Compare, TheOddOneOutStandsAgainstTheOthers) {
  Topology odd = sample();
  odd.sm_places[1].l2_partition = 1;
  const Comparison result = compared({odd, sample(), sample()});
  const Difference* sides = difference_of(result, "map.l2_partition");
  ASSERT_NE(sides, nullptr);
  ASSERT_EQ(sides->sides.size(), 2U);
  EXPECT_THAT(sides->sides[0].gpus, ElementsAre(1, 2));
  EXPECT_THAT(sides->sides[1].gpus, ElementsAre(0));
}

TEST(Compare, WhatOneGpuDoesNotKnowIsNoDifference) {
  Topology unknown = sample();
  unknown.memories.front().attributes["latency"].status = Status::inconclusive;
  Topology absent = sample();
  absent.memories.clear();
  const Comparison result = compared({sample(), unknown, absent});
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_THAT(result.not_compared, Contains("l2.latency"));
  EXPECT_THAT(result.compared, ::testing::Not(Contains("l2.latency")));
}

TEST(Compare, ABoundAgreesWithWhatItAllows) {
  Topology bound = with_latency(200, {199, 201});
  bound.memories.front().attributes["latency"].status = Status::lower_bound;
  EXPECT_THAT(compared({sample(), bound}).differences, IsEmpty());
  bound.memories.front().attributes["latency"] = measured(400, "cycles", {399, 401});
  bound.memories.front().attributes["latency"].status = Status::lower_bound;
  EXPECT_EQ(compared({sample(), bound}).differences.size(), 1U);
}

TEST(Compare, ACacheThatOneGpuLacksDiffers) {
  Topology without = sample();
  Estimate none;
  none.status = Status::not_supported;
  without.memories.front().attributes["size"] = none;
  EXPECT_NE(difference_of(compared({sample(), without}), "l2.size"), nullptr);
}

TEST(Compare, IgnoresWhatItIsToldToAndRefusesWhatNobodyHas) {
  const std::vector<Topology> gpus{sample(), with_latency(300, {299, 301})};
  EXPECT_THAT(compared(gpus, {1, {"l2.latency"}}).differences, IsEmpty());
  const auto refused = compare(gpus, {1, {"l2.latencies"}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'l2.latencies'"));
}

TEST(Compare, SaysWhichConditionsDiffer) {
  Topology other = sample();
  other.provenance.driver_version = "590.2";
  other.provenance.shared_gpu = "another process ran.";
  EXPECT_THAT(compared({sample(), other}).notes,
              ElementsAre("They were measured under different drivers: 580.1, 590.2.",
                          "GPU 1 was in use by others: another process ran."));
  other.provenance.simulated = true;
  EXPECT_THAT(compared({sample(), other}).notes, Contains(HasSubstr("Simulated")));
}

}  // namespace
}  // namespace gputopo::compare
