#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr double hit = 40;
constexpr double miss = 240;

/// Rows of `loads` loads at 1024, 1088, ...; row `i` misses on `misses(i)` of them, spread evenly.
Trace curve(int rows, int loads, const std::function<int(int)>& misses) {
  Trace trace;
  for (int i = 0; i < rows; ++i) {
    Row& row = trace.rows.emplace_back();
    row.control = 1024 + 64 * i;
    const int count = misses(i);
    for (int load = 0; load < loads; ++load) {
      const bool is_miss = (load + 1) * count / loads != load * count / loads;
      row.values.push_back(is_miss ? miss : hit);
    }
  }
  return trace;
}

double control_of(int row) {
  return 1024 + 64 * row;
}

/// Gradual rise after row 19.
int rise(int row) {
  return row <= 19 ? 0 : std::min(200, 6 * (row - 19));
}

TEST(FindSize, IsTheLastRowBeforeMissesSetIn) {
  const Estimate finding = find_size(curve(50, 200, rise), {});
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, control_of(19));
  EXPECT_EQ(finding.interval->low, control_of(19));
  EXPECT_EQ(finding.interval->high, control_of(19));
  EXPECT_GT(*finding.confidence, 0.95);
  EXPECT_EQ(finding.samples, 50U * 200U);
  EXPECT_EQ(finding.method, "binomial_isotonic");
  EXPECT_EQ(finding.note, "");
}

TEST(FindSize, SameTraceSameSeedSameBits) {
  Trace trace = curve(50, 200, rise);
  Random random(5);
  for (Row& row : trace.rows) {
    for (double& value : row.values) {
      value = std::max(1.0, value + 3 * random.normal());
    }
  }
  const Estimate a = find_size(trace, {});
  const Estimate b = find_size(trace, {});
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.confidence, b.confidence);
  // From g++ as from clang++ (checked in; a change of the method may change them, a change of compiler may not).
  TraceOptions options;
  options.seed = 42;
  const auto few_misses = [](int row) { return row <= 19 ? row % 7 / 6 : (row - 17) / 2; };
  const Estimate quiet = find_size(curve(40, 400, few_misses), options);
  EXPECT_EQ(quiet.value, 2240);
  EXPECT_EQ(quiet.interval->low, 2240);
  EXPECT_EQ(quiet.interval->high, 2560);
  EXPECT_EQ(quiet.confidence, 0.61033381270839893);
}

TEST(FindSize, NeverMissingIsALowerBound) {
  // A handful of loads says little about the last rows.
  for (const auto& [loads, surely] : {std::pair{1, 37}, std::pair{200, 39}}) {
    const Estimate finding = find_size(curve(40, loads, [](int) { return 0; }), {});
    EXPECT_EQ(finding.status, Status::lower_bound);
    EXPECT_EQ(finding.value, control_of(surely));
    EXPECT_GE(*finding.confidence, 0.975);
    EXPECT_FALSE(finding.interval);
    EXPECT_FALSE(finding.note.empty());
  }
}

// Averages of sweeps that end a few rows behind what fits: what misses there is less than rows differ by, and all of
// such sweeps were said to fit to the last row.
TEST(FindSize, RowsThatMayHideARiseAreNoPartOfABound) {
  constexpr int rows = 20, fits = 17, sweeps = 200;
  constexpr double cycles = 100, least_miss = 12;
  int bounds = 0, too_high = 0, of_none = 0;
  for (int i = 0; i < sweeps; ++i) {
    Random random(static_cast<std::uint64_t>(i) + 1);
    Trace late, none;
    for (int row = 0; row < rows; ++row) {
      const double misses = row < fits ? 0 : 0.02 * (row - fits + 1);
      Row& of_late = late.rows.emplace_back(Row{control_of(row), {}});
      Row& of_all = none.rows.emplace_back(Row{control_of(row), {}});
      for (int lap = 0; lap < 12; ++lap) {
        const double noise = random.normal();
        of_late.values.push_back(cycles + misses * least_miss + noise);
        of_all.values.push_back(cycles + noise);
      }
    }
    const Estimate end = find_size(late, {});
    if (end.status == Status::lower_bound) ++bounds, too_high += *end.value > control_of(fits - 1) ? 1 : 0;
    // Where nothing rises a bound lacks few of the rows that fit.
    const Estimate all = find_size(none, {});
    of_none += all.status == Status::lower_bound && *all.value >= control_of(rows / 2) ? 1 : 0;
  }
  EXPECT_GT(bounds, sweeps / 4);
  EXPECT_LE(too_high, bounds / 20);
  EXPECT_GT(of_none, sweeps * 3 / 4);
}

TEST(FindSize, MissingInTheFirstRowIsAnUpperBound) {
  const Estimate finding = find_size(curve(30, 200, [](int row) { return std::min(200, 30 + 5 * row); }), {});
  EXPECT_EQ(finding.status, Status::upper_bound);
  EXPECT_EQ(finding.value, control_of(0));
  EXPECT_FALSE(finding.note.empty());
}

TEST(FindSize, FixedExtraMissIsNotTheStep) {
  const Estimate finding =
      find_size(curve(60, 200, [](int row) { return row < 12    ? 0
                                                    : row <= 39 ? 1
                                                                : 1 + 8 * (row - 39); }), {});
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, control_of(39));
}

TEST(FindSize, IsolatedOutliersAreNotTheStep) {
  Random random(11);
  for (int repetition = 0; repetition < 20; ++repetition) {
    Trace trace = curve(50, 200, rise);
    for (Row& row : trace.rows) {
      for (double& value : row.values) {
        if (random.uniform() < 1e-3) {
          value += 100 + 600 * random.uniform();
        }
      }
    }
    const Estimate finding = find_size(trace, {});
    EXPECT_EQ(finding.status, Status::measured);
    EXPECT_NEAR(*finding.value, control_of(19), 64);
  }
}

TEST(FindSize, OneDisturbedRowIsNotTheStep) {
  Trace trace = curve(50, 200, rise);
  for (std::size_t load = 0; load < 150; ++load) {
    trace.rows[8].values[load] = 300;
  }
  const Estimate finding = find_size(trace, {});
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, control_of(19));
}

TEST(FindSize, NonMonotoneMissesAfterTheOnset) {
  const Estimate finding = find_size(
      curve(60, 200, [](int row) { return row <= 19 ? 0 : std::min(200, (row % 3 == 0 ? 4 : 9) * (row - 19)); }), {});
  EXPECT_EQ(finding.value, control_of(19));
}

TEST(FindSize, TwoHitLevelsAreBothHits) {
  // Near and far half of a cache, 40 and 90 cycles; misses at 240.
  Trace trace = curve(50, 200, rise);
  for (Row& row : trace.rows) {
    for (std::size_t load = 0; load < row.values.size(); load += 2) {
      row.values[load] = row.values[load] == hit ? 90 : row.values[load];
    }
  }
  EXPECT_EQ(find_size(trace, {}).value, control_of(19));
  const Trace no_misses = curve(50, 200, [](int) { return 0; });
  trace = no_misses;
  for (Row& row : trace.rows) {
    for (std::size_t load = 0; load < row.values.size(); load += 2) {
      row.values[load] = 90;
    }
  }
  EXPECT_EQ(find_size(trace, {}).status, Status::lower_bound);
}

TEST(FindSize, DriftOfTheLevelsIsNotTheStep) {
  Trace trace = curve(50, 200, rise);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    for (double& value : trace.rows[i].values) {
      value += 0.2 * static_cast<double>(i);
    }
  }
  EXPECT_EQ(find_size(trace, {}).value, control_of(19));
}

TEST(FindSize, OneAverageARowIsEnough) {
  const Trace trace{{{30976, {60}},
                     {31232, {60}},
                     {31488, {60}},
                     {31744, {174}},
                     {32000, {179}},
                     {32256, {178}},
                     {32512, {195}},
                     {32768, {195}}}};
  const Estimate finding = find_size(trace, {});
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, 31488);
}

TEST(FindSize, RowsOfDifferentLengthAndInAnyOrder) {
  Trace trace = curve(50, 200, rise);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    trace.rows[i].values.resize(60 + (i * 37) % 140);
  }
  EXPECT_EQ(find_size(trace, {}).value, control_of(19));
  std::swap(trace.rows[3], trace.rows[40]);
  std::swap(trace.rows[10], trace.rows[20]);
  EXPECT_EQ(find_size(trace, {}).value, control_of(19));
  // Laps of one size as rows of their own.
  Trace laps = curve(50, 100, rise);
  const Trace second = curve(50, 100, rise);
  laps.rows.insert(laps.rows.end(), second.rows.begin(), second.rows.end());
  EXPECT_EQ(find_size(laps, {}).value, control_of(19));
  EXPECT_EQ(find_size(laps, {}).samples, 50U * 200U);
}

// 19 of 251 loads, 21 and 21 of 255 miss, and then ever more: no row of them was seen to fit.
TEST(FindSize, FirstRowsThatMissAlikeAreNoRowsThatFit) {
  Trace trace;
  for (std::size_t row = 0; row < 15; ++row) {
    const std::size_t loads = row == 0 ? 251 : 255;
    const std::size_t misses = row == 0 ? 19 : row < 3 ? 21 : 40 + 15 * (row - 3);
    std::vector<double> values(loads, hit);
    std::fill_n(values.begin(), misses, miss);
    trace.rows.push_back({128.0 * static_cast<double>(251 + 4 * row), std::move(values)});
  }
  const Estimate bound = find_size(trace);
  EXPECT_EQ(bound.status, Status::upper_bound);
  EXPECT_EQ(bound.value, 251 * 128);
  EXPECT_FALSE(bound.interval);
}

TEST(FindSize, TwoLoadsARowSayTooLittle) {
  for (const Trace& trace : {Trace{{{1024, {30, 30}}, {2048, {300, 300}}}},
                             Trace{{{1024, {30, 30}}, {2048, {300, 300}}, {4096, {300, 300}}}},
                             Trace{{{1024, {30}}, {2048, {300}}}}, Trace{{{30, {30}}, {300, {300}}}}}) {
    const Estimate e = find_size(trace);
    EXPECT_EQ(e.status, Status::inconclusive);
    EXPECT_THAT(e.note, ::testing::HasSubstr("too few"));
  }
  // A few rows more, and it is a size, as wide as so few loads make it.
  const Estimate wide = find_size(Trace{{{1024, {30, 30}},
                                         {1280, {30, 30}},
                                         {1536, {30, 30}},
                                         {1792, {30, 30}},
                                         {2048, {300, 300}},
                                         {2304, {300, 300}}}});
  ASSERT_EQ(wide.status, Status::measured);
  EXPECT_EQ(wide.value, 1792);
  EXPECT_LT(wide.interval->low, 1792);
  EXPECT_LT(*wide.confidence, 0.9);
  // As many loads as a line has words, and two rows are enough.
  const Estimate sure = find_size(Trace{{{1024, std::vector<double>(64, 30)}, {2048, std::vector<double>(64, 300)}}});
  EXPECT_EQ(sure.value, 1024);
}

// A row of whole laps that misses nothing fits, whatever the others do.
TEST(FindSize, FixedMissesOfWholeLapsAreNotTheCapacity) {
  // One extra miss from 24 lines on, 32 lines fit, whole laps of one load a line.
  Trace trace;
  for (int lines = 16; lines <= 40; ++lines) {
    std::vector<double> values(static_cast<std::size_t>(lines), hit);
    std::fill_n(values.begin(), (lines >= 24 ? 1 : 0) + (lines > 32 ? 4 * (lines - 32) : 0), miss);
    trace.rows.push_back({64.0 * lines, std::move(values)});
  }
  EXPECT_EQ(find_size(trace).value, 32 * 64);
}

TEST(FindSize, UnusableTracesAreInconclusive) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Trace> traces = {{},
                                     {{{1024, {40, 40}}}},
                                     {{{1024, {}}, {2048, {}}}},
                                     {{{1024, {40}}, {2048, {nan}}}},
                                     {{{1024, {40}}, {2048, {-1}}}},
                                     {{{0, {40}}, {2048, {40}}}},
                                     {{{1024, {40}}, {2048, {HUGE_VAL}}}}};
  for (const Trace& trace : traces) {
    for (const auto method : {TraceOptions::Method::standard, TraceOptions::Method::thesis}) {
      TraceOptions options;
      options.method = method;
      const Estimate finding = find_size(trace, options);
      EXPECT_EQ(finding.status, Status::inconclusive);
      EXPECT_FALSE(finding.note.empty());
      EXPECT_FALSE(finding.has_value());
      EXPECT_FALSE(finding.confidence);
    }
  }
}

TEST(FindSize, MissesThatFallAreNoCache) {
  const Estimate finding = find_size(curve(40, 200, [](int row) { return row < 10 ? 120 - 12 * row : 0; }), {});
  EXPECT_EQ(finding.status, Status::inconclusive);
}

TEST(FindSizeByThesis, FindsACleanStepAndTestsIt) {
  TraceOptions options;
  options.method = TraceOptions::Method::thesis;
  const Estimate step = find_size(curve(50, 200, [](int row) { return row <= 19 ? 0 : 200; }), options);
  EXPECT_EQ(step.status, Status::measured);
  EXPECT_EQ(step.value, control_of(19));
  EXPECT_EQ(step.method, "geometric_ks");
  EXPECT_GE(*step.confidence, 0.995);
  const Estimate flat = find_size(curve(50, 200, [](int) { return 0; }), options);
  EXPECT_EQ(flat.status, Status::lower_bound);
  EXPECT_EQ(flat.value, control_of(49));
  const Estimate falling = find_size(curve(50, 200, [](int row) { return row <= 19 ? 200 : 0; }), options);
  EXPECT_EQ(falling.status, Status::inconclusive);
}

TEST(FindSize, OneLoadBeforeTheChangeIsTooFew) {
  for (int rows = 2; rows <= 12; ++rows) {
    EXPECT_EQ(find_size(curve(rows, 1, [](int row) { return row < 1 ? 0 : 1; })).status, Status::inconclusive) << rows;
    const Estimate two = find_size(curve(rows, 1, [](int row) { return row < 2 ? 0 : 1; }));
    if (two.status == Status::measured) {
      EXPECT_LT(two.interval->low, two.interval->high) << rows;
    }
  }
}

TEST(FindSizeByThesis, WhatTheTestCannotSeeIsNoAbsenceOfAChange) {
  TraceOptions options;
  options.method = TraceOptions::Method::thesis;
  const auto found = [&](int rows, int fit) {
    return find_size(curve(rows, 200, [fit](int row) { return row < fit ? 0 : 200; }), options);
  };
  for (const int rows : {2, 3, 4, 7})
    for (int fit = 1; fit <= rows; ++fit)
      EXPECT_EQ(found(rows, fit).status, Status::inconclusive) << rows << " rows, " << fit << " fit";
  for (int rows = 8; rows <= 40; ++rows)
    for (int fit = 1; fit <= rows; ++fit) {
      const Estimate e = found(rows, fit);
      if (e.status == Status::inconclusive) continue;
      ASSERT_EQ(e.status == Status::lower_bound || e.value == control_of(fit - 1), true) << rows << " rows, " << fit;
      ASSERT_LE(*e.value, control_of(fit - 1)) << rows << " rows, " << fit << " fit";
    }
  EXPECT_EQ(found(30, 29).status, Status::lower_bound) << "all but the last row are enough for a test";
}

}  // namespace
}  // namespace gputopo::evidence
