#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "change_point/finding.hpp"
#include "change_point/random.hpp"

namespace gputopo::change_point {
namespace {

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
  const Finding finding = find_size(curve(50, 200, rise), {});
  EXPECT_EQ(finding.verdict, Verdict::value);
  EXPECT_EQ(finding.value, control_of(19));
  EXPECT_EQ(finding.low, control_of(19));
  EXPECT_EQ(finding.high, control_of(19));
  EXPECT_GT(finding.confidence, 0.95);
  EXPECT_LT(finding.p_value, 1e-6);
  EXPECT_EQ(finding.samples, 50U * 200U);
  EXPECT_EQ(finding.method, "binomial_isotonic");
  EXPECT_EQ(finding.reason, "");
}

TEST(FindSize, SameTraceSameSeedSameBits) {
  Trace trace = curve(50, 200, rise);
  Random random(5);
  for (Row& row : trace.rows) {
    for (double& value : row.values) {
      value = std::max(1.0, value + 3 * random.normal());
    }
  }
  const Finding a = find_size(trace, {});
  const Finding b = find_size(trace, {});
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.confidence, b.confidence);
  EXPECT_EQ(a.p_value, b.p_value);
  // From g++ as from clang++ (checked in; a change of the method may change them, a change of compiler may not).
  Options options;
  options.seed = 42;
  const auto few_misses = [](int row) { return row <= 19 ? row % 7 / 6 : (row - 17) / 2; };
  const Finding quiet = find_size(curve(40, 400, few_misses), options);
  EXPECT_EQ(quiet.value, 2240);
  EXPECT_EQ(quiet.low, 2048);
  EXPECT_EQ(quiet.high, 2560);
  EXPECT_EQ(quiet.confidence, 0.27982819357215993);
  EXPECT_EQ(quiet.p_value, 1.1215244008077027e-39);
}

TEST(FindSize, NeverMissingIsALowerBound) {
  for (const int loads : {1, 200}) {
    const Finding finding = find_size(curve(40, loads, [](int) { return 0; }), {});
    EXPECT_EQ(finding.verdict, Verdict::lower_bound);
    EXPECT_EQ(finding.value, control_of(39));
    EXPECT_EQ(finding.high, HUGE_VAL);
    EXPECT_FALSE(finding.reason.empty());
  }
  // A handful of loads says little about the last rows, and the finding says so.
  EXPECT_LT(find_size(curve(40, 1, [](int) { return 0; }), {}).low,
            find_size(curve(40, 500, [](int) { return 0; }), {}).low);
}

TEST(FindSize, MissingInTheFirstRowIsAnUpperBound) {
  const Finding finding = find_size(curve(30, 200, [](int row) { return std::min(200, 30 + 5 * row); }), {});
  EXPECT_EQ(finding.verdict, Verdict::upper_bound);
  EXPECT_EQ(finding.value, control_of(0));
  EXPECT_FALSE(finding.reason.empty());
}

TEST(FindSize, FixedExtraMissIsNotTheStep) {
  const Finding finding =
      find_size(curve(60, 200, [](int row) { return row < 12    ? 0
                                                    : row <= 39 ? 1
                                                                : 1 + 8 * (row - 39); }), {});
  EXPECT_EQ(finding.verdict, Verdict::value);
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
    const Finding finding = find_size(trace, {});
    EXPECT_EQ(finding.verdict, Verdict::value);
    EXPECT_NEAR(finding.value, control_of(19), 64);
  }
}

TEST(FindSize, OneDisturbedRowIsNotTheStep) {
  Trace trace = curve(50, 200, rise);
  for (std::size_t load = 0; load < 150; ++load) {
    trace.rows[8].values[load] = 300;
  }
  const Finding finding = find_size(trace, {});
  EXPECT_EQ(finding.verdict, Verdict::value);
  EXPECT_EQ(finding.value, control_of(19));
}

TEST(FindSize, NonMonotoneMissesAfterTheOnset) {
  const Finding finding = find_size(
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
  EXPECT_EQ(find_size(trace, {}).verdict, Verdict::lower_bound);
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
  const Finding finding = find_size(trace, {});
  EXPECT_EQ(finding.verdict, Verdict::value);
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
    for (const auto method : {Options::Method::standard, Options::Method::thesis}) {
      Options options;
      options.method = method;
      const Finding finding = find_size(trace, options);
      EXPECT_EQ(finding.verdict, Verdict::inconclusive);
      EXPECT_FALSE(finding.reason.empty());
      EXPECT_EQ(finding.confidence, 0);
    }
  }
}

TEST(FindSize, MissesThatFallAreNoCache) {
  const Finding finding = find_size(curve(40, 200, [](int row) { return row < 10 ? 120 - 12 * row : 0; }), {});
  EXPECT_EQ(finding.verdict, Verdict::inconclusive);
}

TEST(FindSizeByThesis, FindsACleanStepAndTestsIt) {
  Options options;
  options.method = Options::Method::thesis;
  const Finding step = find_size(curve(50, 200, [](int row) { return row <= 19 ? 0 : 200; }), options);
  EXPECT_EQ(step.verdict, Verdict::value);
  EXPECT_EQ(step.value, control_of(19));
  EXPECT_EQ(step.method, "geometric_ks");
  EXPECT_LE(step.p_value, 0.005);
  const Finding flat = find_size(curve(50, 200, [](int) { return 0; }), options);
  EXPECT_EQ(flat.verdict, Verdict::lower_bound);
  EXPECT_EQ(flat.value, control_of(49));
  const Finding falling = find_size(curve(50, 200, [](int row) { return row <= 19 ? 200 : 0; }), options);
  EXPECT_EQ(falling.verdict, Verdict::inconclusive);
}

}  // namespace
}  // namespace gputopo::change_point
