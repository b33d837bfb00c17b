// Over 2000 caches that no other test draws: intervals hold the capacity as often as they say, and answers are right as
// often as confidences from a half to nine tenths say.
#include <cstdio>

#include <gtest/gtest.h>

#include "calibration.hpp"

namespace gputopo::change_point::testing {
namespace {

TEST(CapacityCalibration, IntervalsAndConfidencesSayWhatIsTrue) {
  const Calibration c = calibrate(100001, 2000);
  std::printf("%s", table_of(c).c_str());
  EXPECT_GE(c.measured, 0.9 * c.caches);
  EXPECT_GE(c.covered_95, 0.95 * c.measured);
  // Few are left, of two or three rows each: together these have more than half.
  EXPECT_LE(c.wide, 0.02 * c.measured);
  EXPECT_NEAR(c.covered_50, c.within_50, 0.15 * c.wide);
  EXPECT_LE(c.overstated(), 0);
  const Bin half = c.half_sure();
  EXPECT_GE(half.said, 100);
  EXPECT_NEAR(half.right, half.confidence_sum, 0.1 * half.said);
}

}  // namespace
}  // namespace gputopo::change_point::testing
