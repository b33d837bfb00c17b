#include "change_point/clock_tick.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "change_point/random.hpp"

namespace gputopo::change_point {
namespace {

double rounded(double value, double unit) {
  return std::round(value / unit) * unit;
}

/// Loads of `latency` and as much jitter either way, begun anywhere between two ticks, and read to `unit`.
std::vector<double> readings_of(double latency, double jitter, double tick, double unit, int loads = 200) {
  Random random(7);
  std::vector<double> values;
  for (int i = 0; i < loads; ++i) {
    const double taken = latency + jitter * (2 * random.uniform() - 1);
    values.push_back(rounded(std::floor(taken / tick + random.uniform()) * tick, unit));
  }
  std::sort(values.begin(), values.end());
  return values;
}

TEST(ClockTick, IsAnyRealNumber) {
  for (const double tick : {10.0, 16.0, 17.0, 21.0, 25.0, 64.0})
    EXPECT_EQ(clock_tick(readings_of(110, 3, tick, 1)), tick);
  for (const double tick : {1000 / 24.0, 1000 / 19.2, 1000 / 12.0})
    EXPECT_NEAR(clock_tick(readings_of(110, 3, tick, 0.01)), tick, 0.005);
  EXPECT_NEAR(clock_tick(readings_of(110, 60, 1000 / 24.0, 1)), 1000 / 24.0, 0.2) << "multiples that are rounded";
}

TEST(ClockTick, OfDifferencesOfRoundedTimesIsFoundBesideTheirTwins) {
  Random random(7);
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) {
    const double tick = 1000 / 24.0;
    const double begin = std::floor(1000 * random.uniform()) * tick;
    values.push_back(std::round(begin + (2 + static_cast<double>(i % 3)) * tick) - std::round(begin));
  }
  std::sort(values.begin(), values.end());
  ASSERT_EQ(values.front(), 83);
  EXPECT_NEAR(clock_tick(values), 1000 / 24.0, 0.2);
}

TEST(ClockTick, ThatIsLongerThanALoadReadsAsZeroOrOne) {
  EXPECT_EQ(clock_tick(std::vector<double>{0, 0, 64, 64}), 64);
  EXPECT_EQ(clock_tick(std::vector<double>{0, 0}), 0) << "how long it is doesn't show";
}

TEST(ClockTick, OfCyclesIsNoneCoarserThanTheyAre) {
  EXPECT_EQ(clock_tick({}), 0);
  EXPECT_EQ(clock_tick(std::vector<double>{40, 40, 40}), 0);
  EXPECT_EQ(clock_tick(std::vector<double>{38, 39, 41, 900}), 0);
  EXPECT_EQ(clock_tick(std::vector<double>{38, 40}), 0) << "every other pair of values has this divisor";
  EXPECT_EQ(clock_tick(std::vector<double>{38, 270}), 0) << "levels aren't neighbouring multiples";
}

// Values that have nothing to do with a tick are one's multiples no more often than the test allows itself.
TEST(ClockTick, IsHardlyEverFoundByChance) {
  Random random(3);
  for (const int distinct : {2, 3, 5, 9, 20}) {
    int found = 0;
    for (int trace = 0; trace < 1000; ++trace) {
      std::vector<double> values;
      for (int i = 0; i < distinct; ++i) values.push_back(std::floor(20 + 1000 * random.uniform()));
      std::sort(values.begin(), values.end());
      found += static_cast<int>(clock_tick(values) > 0);
    }
    EXPECT_LE(found, 100) << distinct;
  }
}

}  // namespace
}  // namespace gputopo::change_point
