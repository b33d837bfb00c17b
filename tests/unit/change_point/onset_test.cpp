#include "change_point/onset.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "change_point/capacity_law.hpp"
#include "change_point/interval.hpp"

namespace gputopo::change_point {
namespace {

constexpr LevelModel binomial;
const LevelModel gaussian{LevelModel::Kind::gaussian, 4};

TEST(BlockLikelihood, ByHand) {
  EXPECT_DOUBLE_EQ(block_log_likelihood(binomial, 4, 1), std::log(0.25) + 3 * std::log(0.75));
  EXPECT_EQ(block_log_likelihood(binomial, 10, 0), 0);
  EXPECT_EQ(block_log_likelihood(binomial, 10, 10), 0);
  EXPECT_DOUBLE_EQ(level_log_likelihood(binomial, 4, 1, 0.5), 4 * std::log(0.5));
  EXPECT_EQ(level_log_likelihood(binomial, 4, 1, 0), -HUGE_VAL);
  EXPECT_DOUBLE_EQ(block_log_likelihood(gaussian, 2, 6), 36 / (2.0 * 2 * 4));
  EXPECT_DOUBLE_EQ(level_log_likelihood(gaussian, 2, 6, 3), block_log_likelihood(gaussian, 2, 6));
}

TEST(OnsetProfile, PoolsAdjacentViolators) {
  // Shares 0.1, 0.5, 0.3, 0.3, 0.8: the middle three pool to 11/30.
  const std::vector<Observation> rows = {{1, 10, 1}, {2, 10, 5}, {3, 10, 3}, {4, 10, 3}, {5, 10, 8}};
  const OnsetProfile profile = onset_profile(rows, binomial);
  ASSERT_EQ(profile.fitted.size(), 5U);
  EXPECT_DOUBLE_EQ(profile.fitted[0], 0.1);
  for (const std::size_t i : {1, 2, 3}) {
    EXPECT_DOUBLE_EQ(profile.fitted[i], 11.0 / 30);
  }
  EXPECT_DOUBLE_EQ(profile.fitted[4], 0.8);
  EXPECT_DOUBLE_EQ(profile.isotonic_log_likelihood, block_log_likelihood(binomial, 10, 1) +
                                                        block_log_likelihood(binomial, 30, 11) +
                                                        block_log_likelihood(binomial, 10, 8));
  EXPECT_DOUBLE_EQ(profile.null_log_likelihood, block_log_likelihood(binomial, 50, 20));
}

TEST(OnsetProfile, TheLastRowBeforeTheRise) {
  const std::vector<Observation> rows = {{1, 50, 0}, {2, 50, 0}, {3, 50, 0}, {4, 50, 20}, {5, 50, 30}};
  EXPECT_EQ(onset_profile(rows, binomial).last_before, 2U);
  const std::vector<Observation> means = {{1, 5, 200}, {2, 5, 201}, {3, 5, 199}, {4, 5, 400}, {5, 5, 700}};
  EXPECT_EQ(onset_profile(means, gaussian).last_before, 2U);
}

TEST(OnsetProfile, FallingAndConstantLevelsHaveNone) {
  const std::vector<Observation> falling = {{1, 50, 30}, {2, 50, 20}, {3, 50, 0}};
  EXPECT_EQ(onset_profile(falling, binomial).statistic(), 0);
  const std::vector<Observation> constant = {{1, 50, 0}, {2, 50, 0}, {3, 50, 0}};
  EXPECT_EQ(onset_profile(constant, binomial).statistic(), 0);
}

TEST(OnsetProfile, NonMonotoneMissesAfterTheOnsetDontMoveIt) {
  std::vector<Observation> rows;
  for (int i = 1; i <= 40; ++i) {
    const double misses = i <= 20 ? 0 : (i % 3 == 0 ? 12.0 : 40.0) + i;
    rows.push_back({1000.0 + i, 200, misses});
  }
  EXPECT_EQ(onset_profile(rows, binomial).last_before, 19U);
}

TEST(CapacityLaw, MissesThatDontGrowAreNoCapacityMisses) {
  // One extra miss from 24 lines on, 32 lines fit, whole laps of one load a line.
  std::vector<Observation> rows;
  for (int lines = 16; lines <= 40; ++lines) {
    const double extra = lines >= 24 ? 1 : 0;
    rows.push_back({64.0 * lines, static_cast<double>(lines), extra + (lines > 32 ? 4 * (lines - 32) : 0)});
  }
  CapacityLaw law;
  law.saturation = 1;
  law.whole_laps = true;
  law.bytes_a_load = 64;
  EXPECT_EQ(rows[onset_profile(rows, binomial, law).last_before].control, 32 * 64);
}

TEST(CapacityLaw, KnowsWholeLapsFromTheRowsLengths) {
  const auto law_of = [](double loads_a_line, double dropped, double most) {
    Trace trace;
    std::vector<Observation> rows;
    for (int lines = 20; lines <= 60; ++lines) {
      const double loads = std::min(most, loads_a_line * lines - dropped);
      trace.rows.push_back({64.0 * lines, std::vector<double>(static_cast<std::size_t>(loads), 40)});
      rows.push_back({64.0 * lines, loads, 0});
    }
    return capacity_law(trace, rows, 200);
  };
  EXPECT_TRUE(law_of(1, 0, 1e9).whole_laps);
  EXPECT_DOUBLE_EQ(law_of(1, 0, 1e9).bytes_a_load, 64);
  EXPECT_DOUBLE_EQ(law_of(2, 0, 1e9).bytes_a_load, 32);
  EXPECT_TRUE(law_of(1, 1, 1e9).whole_laps);
  EXPECT_NEAR(law_of(1, 1, 1e9).missing_loads, 1, 1e-9);
  EXPECT_FALSE(law_of(1, 0, 40).whole_laps) << "rows that stop after a fixed number of loads";
  EXPECT_LT(law_of(1, 0, 1e9).saturation, 0) << "no misses to judge by";
}

TEST(CapacityLaw, KnowsSaturationFromTheGapsBetweenMisses) {
  const auto saturation_of = [](std::size_t every) {
    Trace trace{{{64, std::vector<double>(64, 40)}, {128, std::vector<double>(128, 40)}}};
    for (std::size_t i = 0; i < 128; i += every) {
      trace.rows[1].values[i] = 240;
    }
    const std::vector<Observation> rows = {{64, 64, 0}, {128, 128, 128.0 / static_cast<double>(every)}};
    return capacity_law(trace, rows, 200).saturation;
  };
  EXPECT_DOUBLE_EQ(saturation_of(1), 1);
  EXPECT_DOUBLE_EQ(saturation_of(2), 0.5);
  EXPECT_DOUBLE_EQ(saturation_of(8), 0.125);
  EXPECT_LT(saturation_of(64), 0) << "two misses tell nothing";
}

TEST(Interval, LikelihoodRatioSetEndsAtChiSquaredsQuantile) {
  OnsetProfile profile;
  profile.log_likelihood = {-10, -1.93, -1.91, 0, -0.5, -1.95, OnsetProfile::impossible};
  profile.highest = 0;
  profile.last_before = 4;
  EXPECT_EQ(likelihood_ratio_set(profile, 1).first, 2U);
  EXPECT_EQ(likelihood_ratio_set(profile, 1).last, 4U);
  EXPECT_EQ(likelihood_ratio_set(profile, 2).first, 1U);
  EXPECT_EQ(likelihood_ratio_set(profile, 2).last, 5U);
}

TEST(Interval, GrowsWithTheDoubt) {
  const auto range_of = [](double first_misses) {
    std::vector<Observation> rows;
    for (int i = 0; i < 30; ++i) {
      const double misses = i < 15 ? 0 : std::min(500.0, first_misses * (i - 14));
      rows.push_back({100000.0 + i, 500, misses});
    }
    const OnsetProfile profile = onset_profile(rows, binomial);
    const RowRange likely = likelihood_ratio_set(profile, 1);
    const Resampled resampled = bootstrap(rows, profile, binomial, {}, 1);
    EXPECT_LE(likely.first, profile.last_before);
    EXPECT_GE(likely.last, profile.last_before);
    EXPECT_LE(resampled.range.first, resampled.range.last);
    return std::pair(static_cast<double>(resampled.range.last - resampled.range.first), resampled.agreement);
  };
  const auto [sharp, sure] = range_of(40);
  const auto [blurred, unsure] = range_of(1);
  EXPECT_EQ(sharp, 0);
  EXPECT_GT(blurred, sharp);
  EXPECT_EQ(sure, 1);
  EXPECT_LT(unsure, 0.95);
}

}  // namespace
}  // namespace gputopo::change_point
