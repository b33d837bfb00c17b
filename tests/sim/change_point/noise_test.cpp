// Traces in which no size, stride or granularity has a part, of which nothing may be told but by the chance that a test
// allows itself; and sizes beside loads that something else than size makes slower.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr int traces_of_noise = 240;
constexpr int most_by_chance = 21;  // of 240 at 5 % each: more in one of 200 such sets

using LoadNoise = std::function<double(Random&, int row)>;

double either_level(Random& random, int) {
  return random.uniform() < 0.5 ? 30 : 300;
}

Trace trace_of_noise(Random& random, int rows, int loads, double unit, const LoadNoise& noise) {
  Trace trace;
  for (int i = 1; i <= rows; ++i) {
    Row& row = trace.rows.emplace_back();
    row.control = unit * i;
    for (int k = 0; k < loads; ++k) row.values.push_back(noise(random, i));
  }
  return trace;
}

/// How many of the traces lead to a status that tells something.
int traces_told(const std::function<Estimate(Random&)>& find, bool bounds_too) {
  int told = 0;
  for (int seed = 1; seed <= traces_of_noise; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Status status = find(random).status;
    told += static_cast<int>(bounds_too ? status != Status::inconclusive : status == Status::measured);
  }
  return told;
}

// A cycle of drift is no level's step, however far away one load in fifty is.
TEST(NoiseTells, NoSizeByACycleBesideLoadsThatAreFarAway) {
  constexpr int hardly_any = 2;  // of 240; half of them were told while means of all loads said how far they moved
  const auto far_or_drifting = [](Random& random, int row) {
    if (random.uniform() < 0.02) return std::floor(60 * (8 + 32 * random.uniform()));
    return row > 8 ? 61.0 : 60.0;
  };
  const auto size_of = [&](Random& random) { return find_size(trace_of_noise(random, 12, 24, 64, far_or_drifting)); };
  EXPECT_LE(traces_told(size_of, false), hardly_any);
}

double sum_of_uniforms(Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum - 6;
}

// What is said of rows of which the first `fit` do.
struct Said {
  int sizes = 0, wrong = 0;  // measured; those and bounds that don't hold
};

Said sizes_said(int rows, int fit, const LoadNoise& noise) {
  constexpr double unit = 64;
  Said all;
  for (std::uint64_t seed = 1; seed <= traces_of_noise; ++seed) {
    Random random(seed);
    const Estimate e = find_size(trace_of_noise(random, rows, 200, unit, noise));
    if (!e.has_value()) continue;
    const Interval said = e.status == Status::lower_bound   ? Interval{*e.value, HUGE_VAL}
                          : e.status == Status::upper_bound ? Interval{0, *e.value}
                                                            : *e.interval;
    const double most = e.status == Status::measured ? unit * fit : unit * (fit + 1);
    all.sizes += e.status == Status::measured ? 1 : 0;
    all.wrong += said.low > most || said.high < unit * fit ? 1 : 0;
  }
  return all;
}

// One load in fifty takes 5 to 80 times as long, whichever level it is of: what lies farthest is no level of memory.
TEST(NoiseTells, NoBoundByLoadsOfEachLevelThatTakeManyTimesAsLong) {
  constexpr int hardly_any = 3;  // of 240; 42 where how far boundaries lie apart was counted in cycles
  const auto far_in_proportion = [](Random& random, int row) {
    const double level = row > 12 && random.uniform() < 0.2 * (row - 12) ? 260 : 60;
    return std::floor(level * (random.uniform() < 0.02 ? 5 + 75 * random.uniform() : 1));
  };
  const Said said = sizes_said(20, 12, far_in_proportion);
  EXPECT_LE(said.wrong, hardly_any);
  EXPECT_GE(said.sizes, 200);
}

// All rows are larger than the cache, and what they miss takes the longer the larger they are.
TEST(NoiseTells, NoSizeByMissesThatGetSlower) {
  constexpr int hardly_any = 3;  // of 240; all before the loads that hit were left aside
  const auto slower = [](Random& random, int row) {
    const double footprint = 1 + 0.4 * (row - 1);  // of the first one
    const bool hits = random.uniform() < 0.6 / footprint;
    return std::round((hits ? 130 : 390 * (1 + 0.06 * std::log(footprint))) + 0.3 * sum_of_uniforms(random));
  };
  EXPECT_LE(sizes_said(24, 0, slower).wrong, hardly_any);
}

// Levels two cycles apart, loads that differ by half a cycle, and three rows that fit.
TEST(NoiseTells, NoUpperBoundOfLevelsThatAreNear) {
  constexpr int hardly_any = 1;  // of 240; 7 before
  const auto near = [](Random& random, int row) {
    const bool misses = row > 3 && random.uniform() < 0.3 * (row - 3);
    return std::round((misses ? 40 : 38) + 0.5 * sum_of_uniforms(random));
  };
  const Said said = sizes_said(16, 3, near);
  EXPECT_LE(said.wrong, hardly_any);
  EXPECT_GE(said.sizes, 200);
}

TEST(NoiseTells, NoSize) {
  const auto size_of = [](int rows, int loads, const LoadNoise& noise) {
    return [=](Random& random) { return find_size(trace_of_noise(random, rows, loads, 64, noise)); };
  };
  EXPECT_LE(traces_told(size_of(20, 4, either_level), false), most_by_chance);
  EXPECT_LE(traces_told(size_of(100, 1, either_level), false), most_by_chance);
  EXPECT_LE(traces_told(size_of(40, 8, either_level), false), most_by_chance);
  const LoadNoise wide = [](Random& random, int) { return 100 + 20 * sum_of_uniforms(random); };
  EXPECT_LE(traces_told(size_of(100, 8, wide), false), most_by_chance);
  const LoadNoise drift = [](Random& random, int row) { return 190 + 0.2 * row + 2 * sum_of_uniforms(random); };
  EXPECT_LE(traces_told(size_of(50, 8, drift), false), most_by_chance);
}

TEST(NoiseTells, NoLine) {
  const auto line_of = [](int strides, double unit, int rows, int loads) {
    return [=](Random& random) {
      std::vector<StrideSweep> sweeps;
      for (int i = 1; i <= strides; ++i)
        sweeps.push_back({unit * i, trace_of_noise(random, rows, loads, 1024, either_level)});
      return find_line_size(sweeps);
    };
  };
  EXPECT_LE(traces_told(line_of(6, 16, 10, 4), true), most_by_chance);
  EXPECT_LE(traces_told(line_of(16, 16, 32, 1), true), most_by_chance);
  EXPECT_LE(traces_told(line_of(16, 16, 32, 16), true), most_by_chance);
}

TEST(NoiseTells, NoGranularity) {
  const auto granularity_of = [](int rows, int loads) {
    return [=](Random& random) { return find_fetch_granularity(trace_of_noise(random, rows, loads, 4, either_level)); };
  };
  EXPECT_LE(traces_told(granularity_of(64, 8), true), most_by_chance);
  EXPECT_LE(traces_told(granularity_of(12, 40), true), most_by_chance);
}

}  // namespace
}  // namespace gputopo::evidence
