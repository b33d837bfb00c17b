// How rarely a level or a size is told of series without any change: 10,000 of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "change_point/split_test.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

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
  std::printf("| series         | number | split + KS | naive KS | a size told |\n");
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
      const Status said = find_size(trace).status;
      alarms[2] += static_cast<int>(said == Status::measured || said == Status::upper_bound);
    }
    const double count = series_of_each;
    std::printf("| %-14s | %6d | %8.4f   | %6.4f   | %8.4f    |\n", name, series_of_each, alarms[0] / count,
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
  EXPECT_LE(total[2] / count, 0.05);
  EXPECT_GT(total[1] / count, 0.15)
      << "a split chosen by looking makes the naive test useless; that is why it is permuted";
}

}  // namespace
}  // namespace gputopo::evidence
