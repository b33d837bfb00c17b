// Traces that look unlike a textbook's miss curve, each by what makes it odd.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/trace_means.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

double jump_control_of(int row) {
  return 4096 + 64 * row;
}

/// Rows at 4096, 4160, ...; load `load` of row `row` takes `cycles(row, load)`.
Trace sweep(int rows, int loads, const std::function<double(int row, int load)>& cycles) {
  Trace trace;
  for (int i = 0; i < rows; ++i) {
    Row& row = trace.rows.emplace_back();
    row.control = jump_control_of(i);
    for (int load = 0; load < loads; ++load) {
      row.values.push_back(cycles(i, load));
    }
  }
  return trace;
}

TEST(SizeOfOddTraces, UpperLevelThatMovesUpSetsInWhereItMovesFirst) {
  // Averages over laps: from row 10 on every second load misses in more and more laps. Its level passes from just above
  // the hits, at which it stays for a while, to that of misses.
  const Trace trace = sweep(120, 256, [](int row, int load) {
    const double hit = 210 + load % 8;
    const double missed_laps = row < 10 ? 0 : row < 50 ? 0.25 : std::min(1.0, 0.25 + 0.02 * (row - 50));
    return load % 2 == 0 ? hit : hit + std::round(200 * missed_laps) + (row >= 10 ? load % 5 : 0);
  });
  const Estimate finding = find_size(trace, {});
  EXPECT_EQ(finding.status, Status::measured) << finding.note;
  EXPECT_EQ(finding.value, jump_control_of(9));
}

TEST(SizeOfOddTraces, AveragesThatRiseSlowlySetInWithTheFirstCycle) {
  const Trace trace = sweep(30, 1, [](int row, int) { return row <= 11 ? 60.0 : 59.0 + 2 * (row - 11); });
  const Estimate finding = find_size(trace, {});
  EXPECT_EQ(finding.status, Status::measured) << finding.note;
  EXPECT_EQ(finding.value, jump_control_of(11));
  EXPECT_EQ(finding.method, "mean_isotonic");
}

// Four sets of three lines, in one of which another line lies: at ten lines of footprint that set begins to thrash, at
// twelve all sets are full, and at thirteen they overflow one by one. Sixteen laps a row.
TEST(SizeOfOddTraces, ARowOfWholeLapsWithoutAMissIsNotAboveTheChange) {
  const std::vector<std::size_t> misses{0, 0, 0, 16, 16, 16, 80, 128, 192, 256, 272};
  Trace trace;
  for (std::size_t row = 0; row < misses.size(); ++row) {
    const std::size_t lines = row + 7;
    std::vector<double> values(lines * 16, 100);
    std::fill_n(values.begin(), misses[row], 1000.0);
    trace.rows.push_back({static_cast<double>(lines) * 128, values});
  }
  const Estimate finding = find_size(trace, {});
  EXPECT_NE(finding.status, Status::upper_bound);
  if (finding.status == Status::measured) {
    EXPECT_GE(finding.interval->high, 1536);
  }
}

TEST(SizeOfOddTraces, AveragesThatRiseFromTheStartGiveNoSize) {
  const Trace rising = sweep(30, 1, [](int row, int) { return 60.0 + 3 * row; });
  EXPECT_EQ(find_size(rising, {}).status, Status::inconclusive) << "a clock that drifts does that, too";
  const Trace uneven = sweep(30, 1, [](int row, int) { return row < 3 ? 60.0 + row % 2 : 60.0 + 3 * (row - 2); });
  EXPECT_EQ(find_size(uneven, {}).status, Status::inconclusive);
  // A jump says that the rows before it fit, few as they are.
  const Trace jump = sweep(30, 1, [](int row, int) { return row < 2 ? 60.0 + row % 2 : 160.0 + row; });
  EXPECT_EQ(find_size(jump, {}).value, jump_control_of(1));
}

TEST(SizeOfOddTraces, AClocksLastDigitIsNoLevel) {
  const Trace trace = sweep(200, 1, [](int row, int) { return row < 90 ? 14 : 15; });
  EXPECT_EQ(find_size(trace, {}).status, Status::inconclusive);
}

TEST(SizeOfOddTraces, OutliersFarBeyondMissesDontHideThem) {
  Random random(3);
  for (int repetition = 0; repetition < 20; ++repetition) {
    const Trace trace = sweep(70, 256, [&](int row, int load) {
      const bool misses = row > 47 && load < 3 * (row - 47);
      const double cycles = misses ? 238 : 38;
      return random.uniform() < 0.012 ? cycles + 400 + 2000 * random.uniform() : cycles + random.normal();
    });
    const Estimate finding = find_size(trace, {});
    EXPECT_EQ(finding.status, Status::measured);
    EXPECT_LE(finding.interval->low, jump_control_of(47));
    EXPECT_GE(finding.interval->high, jump_control_of(47));
    EXPECT_NEAR(*finding.value, jump_control_of(47), 2 * 64);
  }
}

TEST(SizeOfOddTraces, DriftIsNoLevelEvenWhereItMovesAllLoads) {
  const Trace trace = sweep(
      40, 256, [](int row, int load) { return (row > 24 && load < row - 24 ? 330.0 : 108.0) + std::round(0.6 * row); });
  EXPECT_EQ(find_size(trace, {}).value, jump_control_of(24));
}

TEST(SizeOfOddTraces, ABoundDoesNotReachOverSlowLoadsAtItsEnd) {
  // Too few for a size, too many for luck.
  const Trace trace = sweep(10, 64, [](int row, int load) { return row == 9 && load % 24 == 0 ? 300 : 40; });
  const Estimate finding = find_size(trace, {});
  ASSERT_EQ(finding.status, Status::lower_bound) << finding.value.value_or(0);
  EXPECT_EQ(finding.value, jump_control_of(8));
  EXPECT_LE(finding.interval->low, jump_control_of(8));
}

TEST(SizeOfOddTraces, FixedMissesJustBeforeTheCapacityAreADoubt) {
  constexpr int misses[] = {0, 0, 5, 5, 5, 67, 193};
  const Trace trace =
      sweep(40, 256, [&](int row, int load) { return load < (row < 7 ? misses[row] : 256) ? 180 : 32; });
  const Estimate finding = find_size(trace, {});
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_LE(finding.interval->low, jump_control_of(1));
  EXPECT_GE(finding.interval->high, jump_control_of(4)) << "five misses a row may be somebody else's";
  EXPECT_LT(*finding.confidence, 0.9);
}

/// Rows whose share of slow loads is `share(row)`, slow loads anywhere from 300 to 360 cycles.
Trace scattering(int rows, const std::function<double(int row)>& share) {
  Random random(9);
  return sweep(rows, 400, [&](int row, int) {
    const double hit = 280 + 2 * random.normal();
    return random.uniform() < share(row) ? 300 + 60 * random.uniform() : hit;
  });
}

TEST(SizeOfOddTraces, RecurringStepBetweenScatteringRowsIsTheLastResort) {
  // Most rows scatter around a half; those after 20, 40 and 60 fall back to nearly nothing and rise again at once. A
  // slow trend says that there is something to find.
  const auto share = [](int row) {
    const bool lucky = row == 20 || row == 40 || row == 60;
    return lucky ? 0.02 : (row < 70 ? 0.45 : 0.6) - 0.1 * (row * 7 % 5 == 0 ? 1 : 0);
  };
  const Estimate finding = find_size(scattering(90, share), {});
  EXPECT_EQ(finding.status, Status::measured) << finding.note;
  EXPECT_EQ(finding.method, "geometric_rise");
  EXPECT_EQ(finding.value, jump_control_of(20));
  EXPECT_GE(finding.interval->high, jump_control_of(60));
  EXPECT_EQ(finding.interval->low, jump_control_of(0));
  EXPECT_LT(*finding.confidence, 0.4);
}

TEST(SizeOfOddTraces, LargestOfManyRisesIsNoSize) {
  // One fall and rise of its kind, or rises of one height that start anywhere.
  const auto once = [](int row) { return row == 40 ? 0.02 : 0.42 + 0.2 * (row * 7 % 5) / 4 + 0.002 * row; };
  EXPECT_EQ(find_size(scattering(90, once), {}).status, Status::inconclusive);
  const auto trend = [](int row) { return std::min(1.0, 0.1 + 0.009 * row + (row % 2 == 0 ? 0.1 : 0.0)); };
  EXPECT_NE(find_size(scattering(90, trend), {}).status, Status::measured);
}

TEST(SizeOfOddTraces, MissesThatScatterBeforeTheRiseAreNoLevel) {
  const auto share = [](int row) { return row < 40 ? 0.1 + 0.1 * (row * 7 % 5) / 4 : 0.7; };
  EXPECT_NE(find_size(scattering(80, share), {}).status, Status::measured);
  // A constant share is one: two hit levels.
  const auto level = [](int row) { return row < 40 ? 0.15 : 0.7; };
  EXPECT_EQ(find_size(scattering(80, level), {}).value, jump_control_of(39));
}

TEST(MeanCurve, SteadyRiseIsNoNoise) {
  const auto rise = [](int row, int) { return row < 3 ? 60.0 : 60.0 + 5 * (row - 2); };
  EXPECT_NEAR(mean_curve(sweep(12, 1, rise)).sweep.levels.variance, 0.25, 1e-12);
  const auto step = [](int row, int) { return row < 3 ? 60.0 : 180.0; };
  EXPECT_NEAR(mean_curve(sweep(8, 1, step)).sweep.levels.variance, 0.25, 1e-12);
  Random random(4);
  const auto noise = [&random](int, int) { return 500 + 7 * random.normal(); };
  EXPECT_NEAR(std::sqrt(mean_curve(sweep(2000, 1, noise)).sweep.levels.variance), 7, 0.7);
}

}  // namespace
}  // namespace gputopo::evidence
