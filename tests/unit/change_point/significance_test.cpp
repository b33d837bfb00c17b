#include "change_point/significance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "change_point/size_methods.hpp"
#include "change_point/split_test.hpp"

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

// ---- Calibration: 10,000 series without any change ----

enum class Noise { normal, heavy_tailed, integer_ties };

double draw(Random& random, Noise noise) {
  switch (noise) {
    case Noise::normal:
      return 300 + 10 * random.normal();
    case Noise::heavy_tailed: {  // Student's t with two degrees of freedom
      const double u = random.uniform();
      return std::max(0.0, 300 + 5 * (2 * u - 1) / std::sqrt(2 * u * (1 - u) + 1e-9));
    }
    case Noise::integer_ties:
      break;
  }
  return 38 + std::floor(3 * random.uniform() * random.uniform());
}

TEST(FalseAlarms, StayAtTheLevelOverTenThousandSeries) {
  constexpr int series_of_each = 10000 / 3 + 1;
  constexpr double level = 0.05;
  const std::array<std::pair<Noise, const char*>, 3> kinds = {
      {{Noise::normal, "normal"}, {Noise::heavy_tailed, "heavy tails"}, {Noise::integer_ties, "integers, ties"}}};
  std::printf("| series         | number | split + KS | naive KS | size (mean or counts) |\n");
  std::array<int, 3> total{};
  for (const auto& [noise, name] : kinds) {
    std::array<int, 3> alarms{};
    for (int i = 0; i < series_of_each; ++i) {
      Random random(1000003ULL * static_cast<unsigned>(i) + static_cast<unsigned>(noise));
      std::vector<double> series(30);
      Trace trace;
      for (std::size_t k = 0; k < series.size(); ++k) {
        series[k] = draw(random, noise);
        Row& row = trace.rows.emplace_back();
        row.control = 1024.0 * static_cast<double>(k + 1);
        for (int load = 0; load < 8; ++load) {
          row.values.push_back(draw(random, noise));
        }
      }
      const SplitTest split = test_best_split(series, Cost::l2, random.next(), 99);
      alarms[0] += static_cast<int>(split.calibrated_p_value <= level);
      alarms[1] += static_cast<int>(split.naive_p_value <= level);
      Options options;
      options.seed = random.next();
      alarms[2] += static_cast<int>(find_size(trace, options).p_value <= level);
    }
    const double count = series_of_each;
    std::printf("| %-14s | %6d | %8.4f   | %6.4f   | %8.4f              |\n", name, series_of_each, alarms[0] / count,
                alarms[1] / count, alarms[2] / count);
    EXPECT_GE(alarms[0] / count, 0.03) << name;
    EXPECT_LE(alarms[0] / count, 0.07) << name;
    EXPECT_LE(alarms[2] / count, 0.07) << name;
    for (std::size_t k = 0; k < alarms.size(); ++k) {
      total[k] += alarms[k];
    }
  }
  const double count = 3 * series_of_each;
  EXPECT_GE(total[0] / count, 0.03);
  EXPECT_LE(total[0] / count, 0.07);
  EXPECT_GE(total[2] / count, 0.03);
  EXPECT_LE(total[2] / count, 0.07);
  EXPECT_GT(total[1] / count, 0.15)
      << "a split chosen by looking makes the naive test useless; that is why it is permuted";
}

}  // namespace
}  // namespace gputopo::change_point
