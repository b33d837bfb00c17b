// From verdicts to statuses.
#include "experiments/estimates.hpp"

#include <gtest/gtest.h>

namespace gputopo::experiments {
namespace {

using change_point::Finding;
using change_point::Verdict;

Finding finding(Verdict verdict) {
  Finding f;
  f.verdict = verdict;
  f.value = 2048;
  f.low = 2000;
  f.high = 2100;
  f.confidence = 0.9;
  f.samples = 77;
  f.method = "binomial_isotonic";
  f.reason = "because";
  return f;
}

TEST(ToEstimate, AValueIsMeasuredWithItsInterval) {
  const Estimate e = to_estimate(finding(Verdict::value), "B");
  EXPECT_EQ(e.status, Status::measured);
  EXPECT_EQ(e.value, 2048);
  EXPECT_EQ(e.interval, (Interval{2000, 2100}));
  EXPECT_EQ(e.confidence, 0.9);
  EXPECT_EQ(e.samples, 77U);
  EXPECT_EQ(e.unit, "B");
  EXPECT_EQ(e.method, "binomial_isotonic");
}

TEST(ToEstimate, BoundsKeepTheirValueAndHaveNoInterval) {
  const Estimate lower = to_estimate(finding(Verdict::lower_bound), "B");
  EXPECT_EQ(lower.status, Status::lower_bound);
  EXPECT_EQ(lower.value, 2048);
  EXPECT_FALSE(lower.interval.has_value());
  EXPECT_EQ(to_estimate(finding(Verdict::upper_bound), "B").status, Status::upper_bound);
}

TEST(ToEstimate, WhatIsInconclusiveHasNoValueButAReason) {
  const Estimate e = to_estimate(finding(Verdict::inconclusive), "B");
  EXPECT_EQ(e.status, Status::inconclusive);
  EXPECT_FALSE(e.value.has_value());
  EXPECT_EQ(e.note, "because");
}

TEST(Estimates, SayWhereTheyComeFrom) {
  EXPECT_EQ(measured(1, "B", "residency", 5).status, Status::measured);
  EXPECT_EQ(from_api(1, "B").status, Status::api);
  EXPECT_EQ(from_api(1, "B").method, "driver");
  EXPECT_EQ(not_supported("B", "no such cache").status, Status::not_supported);
  EXPECT_FALSE(not_supported("B", "no such cache").value.has_value());
  EXPECT_EQ(inconclusive("cycles", "lap_time", "noise").note, "noise");
}

}  // namespace
}  // namespace gputopo::experiments
