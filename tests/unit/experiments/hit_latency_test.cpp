// Where hits end, worked by hand.
#include "experiments/hit_latency.hpp"

#include <gtest/gtest.h>

namespace gputopo::experiments {
namespace {

HitLatency hit(double latency_cycles, double timed_cycles, double spread_cycles) {
  HitLatency h;
  h.estimate.value = latency_cycles;
  h.timed_cycles = timed_cycles;
  h.timed_spread = spread_cycles;
  return h;
}

TEST(MissThreshold, LiesThreeTenthsOfTheLatencyAboveTheTimedHit) {
  EXPECT_DOUBLE_EQ(miss_threshold(hit(100, 120, 2)), 150);
}

TEST(MissThreshold, KeepsTenCyclesFromAFastHit) {
  EXPECT_DOUBLE_EQ(miss_threshold(hit(20, 40, 1)), 50);
}

TEST(MissThreshold, KeepsClearOfHitsThatSpread) {
  EXPECT_DOUBLE_EQ(miss_threshold(hit(100, 120, 40)), 200);
}

TEST(MissThreshold, ManagesWithoutALatency) {
  HitLatency none;
  none.timed_cycles = 30;
  EXPECT_DOUBLE_EQ(miss_threshold(none), 40);
}

}  // namespace
}  // namespace gputopo::experiments
