#include "compare/quantities.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.hpp"

namespace gputopo::compare {
namespace {

Answer answer_for(const Topology& topology, const std::string& key) {
  for (const Quantity& q : quantities(topology))
    if (q.key == key) return q.answer;
  ADD_FAILURE() << "no quantity " << key;
  return {};
}

TEST(Quantities, AMeasuredValueLeavesItsInterval) {
  const Answer latency = answer_for(sample(), "l2.latency");
  EXPECT_EQ(latency.value, 280);
  EXPECT_EQ(latency.range, (Interval{278, 282}));
}

TEST(Quantities, ABoundIsOpenToOneSide) {
  Estimate e = measured(100, "B", {90, 110});
  e.status = Status::lower_bound;
  EXPECT_EQ(answer_of(e).range->low, 90);
  EXPECT_TRUE(std::isinf(answer_of(e).range->high));
  e.status = Status::upper_bound;
  EXPECT_EQ(answer_of(e).range, (Interval{0, 110}));
}

TEST(Quantities, AnIntervalOfHalfTheProbabilityIsWidenedTo95Percent) {
  Estimate e = measured(100, "cycles", {99, 102});
  e.interval_kind = "50 %";
  const auto range = answer_of(e).range;
  ASSERT_TRUE(range);
  EXPECT_NEAR(range->low, 97.09, 0.01);
  EXPECT_NEAR(range->high, 105.81, 0.01);
  e.interval_kind = "quartiles";  // of the loads, not of what isn't known
  EXPECT_EQ(answer_of(e).range, (Interval{99, 102}));
}

TEST(Quantities, WhatIsNotDecidedIsNotKnown) {
  Estimate e = measured(100, "B", {90, 110});
  e.status = Status::inconclusive;
  EXPECT_FALSE(answer_of(e).is_known());
  Estimate fraction = measured(1.25, "", {1, 2});
  fraction.interval.reset();
  EXPECT_FALSE(answer_of(fraction).is_known());
  fraction.value = 2;
  EXPECT_EQ(answer_of(fraction).range, (Interval{2, 2}));
  Topology no_count = sample();
  no_count.gpu.sm_count = 0;
  EXPECT_FALSE(answer_for(no_count, "gpu.sm_count").is_known());
}

TEST(Quantities, NotSupportedIsAnAnswer) {
  Estimate e;
  e.status = Status::not_supported;
  EXPECT_EQ(answer_of(e).text, "not supported");
}

TEST(Quantities, GroupsAreComparedByTheirSizesNotTheirNumbers) {
  Topology t = sample();
  EXPECT_EQ(answer_for(t, "map.l2_partition").text, "2 x 2 SMs");
  for (SmPlace& place : t.sm_places) place.l2_partition = place.sm == 0 ? 7 : 3;
  EXPECT_EQ(answer_for(t, "map.l2_partition").text, "1 x 1 SMs, 1 x 3 SMs");
  t.memories.front().sm_groups = {{0, 1, 2}, {3}};
  EXPECT_EQ(answer_for(t, "l2.sm_groups").text, "1 x 1 SMs, 1 x 3 SMs");
}

TEST(Quantities, StructureAndCarveOutsAreAmongThem) {
  Topology t = sample();
  t.memories.front().structure["l2_sides"] = {"2", Status::measured, "first_loads", {}, 0, ""};
  t.memories.front().carve_outs.push_back({28, measured(64, "B", {64, 64}), measured(189, "B", {189, 189}), {}});
  EXPECT_EQ(answer_for(t, "l2.l2_sides").text, "2");
  EXPECT_EQ(answer_for(t, "l2.scope").text, "gpu");
  EXPECT_EQ(answer_for(t, "l2.carve_out_28_percent_usable").value, 189);
}

}  // namespace
}  // namespace gputopo::compare
