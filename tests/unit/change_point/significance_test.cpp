#include "change_point/significance.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "change_point/random.hpp"

namespace gputopo::change_point {
namespace {

TEST(Random, GivesTheSameNumbersEverywhere) {
  Random random(1);
  const std::array<std::uint64_t, 3> first = {random.next(), random.next(), random.next()};
  EXPECT_EQ(first, (std::array<std::uint64_t, 3>{0xb3f2af6d0fc710c5ULL, 0x853b559647364ceaULL, 0x92f89756082a4514ULL}));
}

TEST(Random, DrawsItsDistributions) {
  Random random(3);
  for (const double p : {0.0, 0.002, 0.3, 0.9, 1.0}) {
    double sum = 0;
    double squares = 0;
    constexpr int draws = 20000;
    constexpr double trials = 250;
    for (int i = 0; i < draws; ++i) {
      const double k = static_cast<double>(random.binomial(250, p));
      ASSERT_LE(k, trials);
      sum += k;
      squares += k * k;
    }
    const double mean = sum / draws;
    const double variance = trials * p * (1 - p);
    EXPECT_NEAR(mean, trials * p, 5 * std::sqrt(variance / draws) + 1e-9) << p;
    EXPECT_NEAR(squares / draws - mean * mean, variance, 0.08 * variance + 0.01) << p;
  }
  std::array<int, 5> counts{};
  for (int i = 0; i < 50000; ++i) {
    ++counts[random.below(5)];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10000, 500);
  }
}

TEST(ChiSquaredTail, QuantilesOfTheTables) {
  EXPECT_NEAR(chi_squared_tail(3.841458820694124), 0.05, 1e-12);
  EXPECT_NEAR(chi_squared_tail(6.634896601021213), 0.01, 1e-12);
  EXPECT_EQ(chi_squared_tail(0), 1);
  EXPECT_EQ(chi_squared_tail(-1), 1);
}

TEST(PermutationPValue, CountsWhatIsAsExtreme) {
  int call = 0;
  // Of 99 reorderings 9 are greater and none equal: between 9 and 10 of 100.
  const double p = permutation_p_value(5, 1, 99, [&call](Random&) { return ++call % 11 == 0 ? 6.0 : 4.0; });
  EXPECT_GE(p, 0.09);
  EXPECT_LE(p, 0.10);
  // All ties: uniform over (0, 1), never a certain rejection.
  EXPECT_GT(permutation_p_value(5, 2, 99, [](Random&) { return 5.0; }), 0.01);
  // Nothing as extreme: at most one in a hundred.
  EXPECT_LE(permutation_p_value(5, 3, 99, [](Random&) { return 1.0; }), 0.01);
}

}  // namespace
}  // namespace gputopo::change_point
