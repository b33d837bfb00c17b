#include "change_point/mixture.hpp"

#include <gtest/gtest.h>

#include "change_point/random.hpp"

namespace gputopo::change_point {
namespace {

Trace one_row(std::vector<double> values) {
  return Trace{{{1024, std::move(values)}}};
}

TEST(LatencyHistogram, CountsWholeNumbersExactly) {
  const auto bins = latency_histogram(one_row({38, 38, 263, 264, 2048}), 100);
  ASSERT_EQ(bins.size(), 4U);
  EXPECT_EQ(bins[0].value, 38);
  EXPECT_EQ(bins[0].count, 2U);
  EXPECT_EQ(bins[1].value, 263);
  EXPECT_EQ(bins[2].value, 264);
  EXPECT_EQ(bins[3].value, 2048);
}

// A clock that ticks slowly reads 0 for what takes less than a tick: a multiple of it like all other readings.
TEST(LatencyHistogram, KeepsZero) {
  LatencyCounts counts;
  counts.add({64, 0, 128, 0});
  const std::vector<Bin> bins = counts.bins(400);
  ASSERT_EQ(bins.size(), 3U);
  EXPECT_EQ(bins[0].value, 0);
  EXPECT_EQ(bins[0].count, 2U);
  EXPECT_EQ(clock_quantum(bins), 64);
}

TEST(LatencyHistogram, WidensItsBinsToStayWithinTheLimit) {
  std::vector<double> values;
  values.reserve(5000);
  for (int i = 0; i < 5000; ++i) {
    values.push_back(100 + 0.1 * i);
  }
  const auto bins = latency_histogram(one_row(values), 64);
  EXPECT_LE(bins.size(), 64U);
  EXPECT_GT(bins.size(), 8U);
  std::uint64_t total = 0;
  for (const Bin& bin : bins) {
    total += bin.count;
  }
  EXPECT_EQ(total, 5000U);
  EXPECT_TRUE(latency_histogram(Trace{}, 64).empty());
}

TEST(LatencyHistogram, CountsRowsWhoseRangeWidensToBothSides) {
  const Trace trace{{{1, {100, 101}}, {2, {}}, {3, {40, 100}}, {4, {300, 40, 40}}, {5, {100}}}};
  const auto bins = latency_histogram(trace, 64);
  ASSERT_EQ(bins.size(), 4U);
  EXPECT_EQ(bins[0].value, 40);
  EXPECT_EQ(bins[0].count, 3U);
  EXPECT_EQ(bins[1].value, 100);
  EXPECT_EQ(bins[1].count, 3U);
  EXPECT_EQ(bins[2].value, 101);
  EXPECT_EQ(bins[2].count, 1U);
  EXPECT_EQ(bins[3].value, 300);
  EXPECT_EQ(bins[3].count, 1U);
}

TEST(Mixture, RecoversKnownComponents) {
  Random random(7);
  std::vector<double> values;
  values.reserve(6000);
  for (int i = 0; i < 6000; ++i) {
    values.push_back(std::max(1.0, i % 3 == 0 ? 260 + 6 * random.normal() : 40 + 1.5 * random.normal()));
  }
  const auto bins = latency_histogram(one_row(values), 400);
  const auto components = fit_mixture(bins, 6);
  ASSERT_EQ(components.size(), 2U);
  EXPECT_NEAR(components[0].mean, 40, 0.2);
  EXPECT_NEAR(components[0].deviation, 1.5, 0.1);
  EXPECT_NEAR(components[0].weight, 2.0 / 3, 0.005);
  EXPECT_NEAR(components[1].mean, 260, 1);
  EXPECT_NEAR(components[1].deviation, 6, 0.3);
  const auto boundaries = boundaries_of(components, bins);
  ASSERT_EQ(boundaries.size(), 1U);
  EXPECT_GT(boundaries[0].threshold_cycles, 46);
  EXPECT_LT(boundaries[0].threshold_cycles, 240);
  EXPECT_NEAR(boundaries[0].step, 220, 1);
  EXPECT_NEAR(boundaries[0].upper_share, 1.0 / 3, 0.001);
}

TEST(Mixture, FindsALevelThatIsNearlyEmpty) {
  std::vector<double> values(100000, 40);
  for (int i = 0; i < 5; ++i) {
    values.push_back(240 + i % 2);
  }
  const auto components = fit_mixture(latency_histogram(one_row(values), 400), 6);
  ASSERT_EQ(components.size(), 2U);
  EXPECT_NEAR(components[1].weight, 5e-5, 1e-6);
  EXPECT_NEAR(components[1].mean, 240.4, 0.1);
}

TEST(Mixture, OneLevelStaysOne) {
  EXPECT_EQ(fit_mixture(latency_histogram(one_row(std::vector<double>(500, 38)), 400), 6).size(), 1U);
  EXPECT_TRUE(fit_mixture({}, 6).empty());
  EXPECT_TRUE(boundaries_of({}, {}).empty());
}

}  // namespace
}  // namespace gputopo::change_point
