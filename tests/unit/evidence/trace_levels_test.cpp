// Loads of anybody's trace told apart into levels, and how rarely levels are seen where there are none.
#include "evidence/traces/trace_levels.hpp"

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

TEST(Separations, LeaveOutWhatOnlyTheClockMakes) {
  // A clock that counts in fours: hits at 48 and 52, misses at 200 and 204.
  Trace trace;
  for (int row = 1; row <= 20; ++row) {
    Row& next = trace.rows.emplace_back();
    next.control = row * 1024;
    for (int load = 0; load < 60; ++load) {
      next.values.push_back((row > 12 && load < 5 * (row - 12) ? 200 : 48) + 4 * ((load + row) % 2));
    }
  }
  const auto candidates = separations(trace);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_EQ(candidates[0].boundary.threshold_cycles, 200);
  EXPECT_EQ(candidates[0].rows[11].sum, 0);
  EXPECT_EQ(candidates[0].rows[12].sum, 5);
}

// Hits of 30 cycles and misses of 64 read 0 or 64 by a clock that counts in 64: by which doesn't say of which level a
// load is, so that rows that fit aren't ones that miss.
TEST(SizeByACoarseClock, IsNoBoundOfHitsThatReadAsATick) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    Random random(seed);
    Trace trace;
    for (int row = 0; row < 30; ++row) {
      Row& next = trace.rows.emplace_back(Row{64.0 * (128 + 4 * row), {}});
      const double share = row < 15 ? 0 : 1;
      for (int load = 0; load < 128 + 4 * row; ++load)
        next.values.push_back(64 * std::floor(random.uniform() + (random.uniform() < share ? 64 : 30) / 64.0));
    }
    const Estimate said = find_size(trace);
    EXPECT_NE(said.status, Status::upper_bound) << seed;
    EXPECT_NE(said.status, Status::lower_bound) << seed;
  }
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
