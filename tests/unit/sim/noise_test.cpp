#include "device/sim/noise.hpp"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace gputopo::sim {
namespace {

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments_of(const NoiseModel& model, double latency, int n) {
  Noise noise(model, 5);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = noise.observe(latency);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean)};
}

TEST(Noise, WithoutJitterTakesTheTwoNearestCyclesAsOftenAsTheMeanSays) {
  Noise noise({}, 1);
  std::map<std::uint32_t, int> counts;
  for (int i = 0; i < 40000; ++i) ++counts[noise.observe(38.25)];
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_NEAR(counts[39], 10000, 400);
  EXPECT_EQ(counts[38] + counts[39], 40000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(noise.observe(38), 38U) << "nothing to round";
  EXPECT_EQ(noise.observe(0), 1U) << "no load takes less than a cycle";
}

TEST(Noise, GaussianJitterHasItsMeanAndDeviation) {
  NoiseModel model;
  model.jitter = JitterKind::gaussian;
  model.jitter_cycles = 8;
  const Moments m = moments_of(model, 300, 200000);
  EXPECT_NEAR(m.mean, 300, 0.1);
  EXPECT_NEAR(m.deviation, 8, 0.1);
}

TEST(Noise, UniformJitterCoversItsCyclesEvenly) {
  NoiseModel model;
  model.jitter = JitterKind::uniform;
  model.jitter_cycles = 2;
  Noise noise(model, 9);
  std::map<std::uint32_t, int> counts;
  for (int i = 0; i < 50000; ++i) ++counts[noise.observe(40)];
  ASSERT_EQ(counts.size(), 5U);
  for (const auto& [cycles, count] : counts) EXPECT_NEAR(count, 10000, 400) << cycles;
  EXPECT_EQ(counts.begin()->first, 38U);
}

TEST(Noise, OutliersComeAsOftenAsAsked) {
  NoiseModel model;
  model.outlier_probability = 0.01;
  model.outlier_cycles = {500, 500};
  Noise noise(model, 2);
  int outliers = 0;
  for (int i = 0; i < 100000; ++i) outliers += noise.observe(40) == 540 ? 1 : 0;
  EXPECT_NEAR(outliers, 1000, 130);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(4);
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 70000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

}  // namespace
}  // namespace gputopo::sim
