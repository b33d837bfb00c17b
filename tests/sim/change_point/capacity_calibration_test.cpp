// Over 2000 caches that no other test draws: intervals hold the capacity at least as often as they say, and answers are
// right at least as often as confidences of a half and more say. Both say too little (docs/method.md).
#include <cstdio>

#include <gtest/gtest.h>

#include "calibration.hpp"

namespace gputopo::change_point::testing {
namespace {

TEST(CapacityCalibration, IntervalsAndConfidencesSayNoMoreThanIsTrue) {
  const Calibration c = calibrate(100001, 2000);
  std::printf("%s", table_of(c).c_str());
  EXPECT_GE(c.measured, 0.9 * c.caches);
  EXPECT_GE(c.covered_95, 0.95 * c.measured);
  EXPECT_GE(c.covered_50, 0.45 * c.wide);
  EXPECT_LE(c.overstated(), 0.1);
}

}  // namespace
}  // namespace gputopo::change_point::testing
