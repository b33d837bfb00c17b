#include "change_point/isotonic.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "change_point/random.hpp"

namespace gputopo::change_point {
namespace {

constexpr LevelModel binomial;
const LevelModel gaussian{LevelModel::Kind::gaussian, 4};

TEST(BlockLikelihood, ByHand) {
  EXPECT_DOUBLE_EQ(block_log_likelihood(binomial, 4, 1), std::log(0.25) + 3 * std::log(0.75));
  EXPECT_NEAR(block_log_likelihood(binomial, 10, 0), 0, 1e-7);
  EXPECT_NEAR(block_log_likelihood(binomial, 10, 10), 0, 1e-7);
  EXPECT_DOUBLE_EQ(level_log_likelihood(binomial, 4, 1, 0.5), 4 * std::log(0.5));
  EXPECT_LT(level_log_likelihood(binomial, 4, 1, 0), -20);
  EXPECT_DOUBLE_EQ(block_log_likelihood(gaussian, 2, 6), 36 / (2.0 * 2 * 4));
  EXPECT_DOUBLE_EQ(level_log_likelihood(gaussian, 2, 6, 3), block_log_likelihood(gaussian, 2, 6));
}

TEST(RisingLevels, PoolAdjacentViolators) {
  // Shares 0.1, 0.5, 0.3, 0.3, 0.8: the middle three pool to 11/30.
  const std::vector<Observation> rows = {{1, 10, 1}, {2, 10, 5}, {3, 10, 3}, {4, 10, 3}, {5, 10, 8}};
  const RisingLevels rising(rows, binomial);
  const std::vector<double> fitted = rising.fitted();
  ASSERT_EQ(fitted.size(), 5U);
  EXPECT_DOUBLE_EQ(fitted[0], 0.1);
  for (const std::size_t i : {1, 2, 3}) {
    EXPECT_DOUBLE_EQ(fitted[i], 11.0 / 30);
  }
  EXPECT_DOUBLE_EQ(fitted[4], 0.8);
  EXPECT_DOUBLE_EQ(rising.top(), 0.8);
  EXPECT_DOUBLE_EQ(rising.log_likelihood(0), block_log_likelihood(binomial, 10, 1) +
                                                 block_log_likelihood(binomial, 30, 11) +
                                                 block_log_likelihood(binomial, 10, 8));
}

// Of every tail as of that tail alone.
TEST(RisingLevels, AreThoseOfEveryTail) {
  Random random(3);
  std::vector<Observation> rows;
  for (int i = 0; i < 60; ++i) {
    rows.push_back({100.0 + i, 50, static_cast<double>(random.binomial(50, 0.2 + 0.01 * i))});
  }
  const RisingLevels rising(rows, binomial);
  for (std::size_t first = 0; first < rows.size(); ++first) {
    const auto tail = std::span(rows).subspan(first);
    EXPECT_NEAR(rising.log_likelihood(first), RisingLevels(tail, binomial).log_likelihood(0), 1e-9);
    double by_control = 0;
    const Block& block = rising.block(first);
    for (std::size_t i = block.first; i < block.end; ++i) {
      by_control += rows[i].weight / rows[i].control;
    }
    EXPECT_NEAR(block.walked_by_control, by_control, 1e-12);
  }
  EXPECT_EQ(rising.log_likelihood(rows.size()), 0);
}

TEST(RisingLevels, FallingOnesAreOneLevel) {
  const std::vector<Observation> falling = {{1, 50, 30}, {2, 50, 20}, {3, 50, 0}};
  const RisingLevels rising(falling, binomial);
  EXPECT_EQ(rising.block(0).end, 3U);
  EXPECT_DOUBLE_EQ(rising.log_likelihood(0), block_log_likelihood(binomial, 150, 50));
}

TEST(Dispersion, IsOneForBinomialRowsAndMoreForRowsOfTheirOwn) {
  Random random(9);
  std::vector<Observation> rows;
  std::vector<Observation> lottery;
  for (int i = 0; i < 400; ++i) {
    rows.push_back({1.0 + i, 200, static_cast<double>(random.binomial(200, 0.2))});
    lottery.push_back({1.0 + i, 200, static_cast<double>(random.binomial(200, i % 2 == 0 ? 0.1 : 0.3))});
  }
  const std::vector<double> level(rows.size(), 0.2);
  EXPECT_LT(dispersion(rows, level, {}, 1), 1.25);
  EXPECT_GT(dispersion(lottery, level, {}, 1), 8);
}

}  // namespace
}  // namespace gputopo::change_point
