// Levels of latency that overlap, loads that all become slower together, and sets that fill unevenly: what a boundary
// between hits and misses doesn't tell by itself.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "change_point/latency_histogram.hpp"
#include "change_point/random.hpp"
#include "change_point/rising_boundary.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "evidence/traces/trace_means.hpp"
#include "evidence/traces/trace_together.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr int sweep_rows = 40, last_fitting = 19;

double row_bytes(int row) {
  return 8192 + 256 * row;
}

Trace sweep_of_loads(int loads, const std::function<double(Random&, int row)>& cycles, std::uint64_t seed = 1) {
  Random random(seed);
  Trace trace;
  for (int i = 0; i < sweep_rows; ++i) {
    Row& row = trace.rows.emplace_back();
    row.control = row_bytes(i);
    for (int k = 0; k < loads; ++k) row.values.push_back(std::max(1.0, std::round(cycles(random, i))));
  }
  return trace;
}

double heavy_tailed(Random& random, double width) {
  return width * (random.uniform() < 0.5 ? -1 : 1) * std::log(1 / (1 - random.uniform()));
}

TEST(RisingBoundary, LiesBetweenLevelsThatOverlap) {
  const Trace trace = sweep_of_loads(
      64, [](Random& random, int row) { return (row <= last_fitting ? 120 : 142) + heavy_tailed(random, 8); });
  const auto boundary = rising_boundary(trace, latency_histogram(trace, 400));
  ASSERT_TRUE(boundary);
  EXPECT_NEAR(boundary->boundary.threshold_cycles, 131, 4);
  EXPECT_NEAR(boundary->boundary.step, 22.0 / 0.75, 4);  // of the shares above it, a quarter is the other level's
}

TEST(RisingBoundary, TakesTheWidestGapOfThoseThatAreAsGood) {
  const Trace trace = sweep_of_loads(64, [](Random& random, int row) {
    return row > last_fitting && random.uniform() < 0.5 ? 148 + 4 * std::floor(8 * random.uniform()) : 48;
  });
  const auto boundary = rising_boundary(trace, latency_histogram(trace, 400));
  ASSERT_TRUE(boundary);
  EXPECT_EQ(boundary->boundary.threshold_cycles, 148);
  EXPECT_EQ(boundary->boundary.middle, 98);
}

TEST(RisingBoundary, IsNoneWhereNothingRises) {
  const Trace falls = sweep_of_loads(16, [](Random&, int row) { return 200 - row; });
  EXPECT_FALSE(rising_boundary(falls, latency_histogram(falls, 400)));
  const Trace alike = sweep_of_loads(16, [](Random&, int) { return 40; });
  EXPECT_FALSE(rising_boundary(alike, latency_histogram(alike, 400)));
}

TEST(SizeOfOverlappingLevels, IsToldWhateverTheTails) {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Trace trace = sweep_of_loads(
        96, [](Random& random, int row) { return (row <= last_fitting ? 120 : 142) + heavy_tailed(random, 8); }, seed);
    const Estimate said = find_size(trace);
    ASSERT_EQ(said.status, Status::measured) << seed << ": " << said.note;
    EXPECT_LE(said.interval->low, row_bytes(last_fitting)) << seed;
    EXPECT_GE(said.interval->high, row_bytes(last_fitting)) << seed;
    exact += said.value == row_bytes(last_fitting) ? 1 : 0;
  }
  EXPECT_GE(exact, 15);
}

// A clock that counts in sixteens, levels one count apart, and two loads of thousands that something else made slow.
TEST(SizeOfOverlappingLevels, IsToldBesideTwoOutliers) {
  int row_seen = -1;
  const Trace trace = sweep_of_loads(64, [&](Random&, int row) {
    const bool is_outlier = row != row_seen && (row == 7 || row == 31);
    row_seen = row;
    return is_outlier ? 4000 : row <= last_fitting ? 48 : 64;
  });
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, row_bytes(last_fitting));
}

// A clock that counts in 32s reads hits as 192 or 224 and misses as 224 or 256; the only boundary lies below strangers.
TEST(SizeOfOverlappingLevels, IsNoBoundByLoadsOfOthersAlone) {
  int told = 0, within = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Estimate size = find_size(sweep_of_loads(
        400,
        [](Random& random, int row) {
          const double cycles =
              (row <= last_fitting ? 200 : 242) + (random.uniform() < 0.01 ? 400 * random.uniform() : 0);
          return 32 * std::floor((cycles + 32 * random.uniform()) / 32);
        },
        seed));
    if (size.status == Status::inconclusive) continue;
    ASSERT_EQ(size.status, Status::measured) << seed << ": " << size.note;
    const double truth = row_bytes(last_fitting);
    ++told, within += size.interval->low <= truth && truth <= size.interval->high ? 1 : 0;
  }
  EXPECT_GE(told, 10);
  EXPECT_GE(within, told - 1);  // 95 %
}

// Levels without any noise are multiples of what they are apart: that is no clock's tick, between which loads would
// lie.
TEST(SizeOfLevelsWithoutNoise, IsToldWhateverTheyAreApart) {
  for (const auto& [hit, miss] : {std::pair{200, 400}, {100, 200}, {40, 80}, {100, 300}}) {
    const Estimate size = find_size(
        sweep_of_loads(32, [hit = hit, miss = miss](Random&, int row) { return row <= last_fitting ? hit : miss; }));
    EXPECT_EQ(size.value, row_bytes(last_fitting)) << hit;
    EXPECT_EQ(size.method, "binomial_isotonic") << hit;
  }
}

// Walks of which all loads come from one of four levels, the farther the larger: a row between them holds both.
TEST(LoadsThatMoveTogether, AreNotThoseOfRowsThatLieAtOneLevelEach) {
  constexpr double ends[] = {4600, 8900, 18000};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    Trace trace;
    for (double bytes = 1024; bytes < 48000; bytes *= 1.19) {
      Row& row = trace.rows.emplace_back(Row{std::floor(bytes / 64) * 64, {}});
      for (int load = 0; load < bytes / 64; ++load) {
        const double cycles = bytes < ends[0] ? 28 : bytes < ends[1] ? 193 : bytes < ends[2] ? 420 : 1029;
        const bool is_between = bytes < 1.19 * ends[2] && bytes > ends[2] && random.uniform() < 0.15;
        row.values.push_back(std::round((is_between ? 420 : cycles) + random.normal()));
      }
    }
    const auto last = std::ranges::find_if(trace.rows, [&](const Row& row) { return row.control > ends[0] - 64; }) - 1;
    const Estimate size = find_size(trace);
    ASSERT_EQ(size.status, Status::measured) << size.note;
    EXPECT_EQ(*size.value, last->control) << seed;
  }
}

// A hundredth of the loads behind the change miss, by three times as much: no other load moves with them.
TEST(LoadsThatMoveTogether, AreNotHitsBesideAFewMisses) {
  constexpr int misses_of_last[] = {8, 16, 22, 28, 33, 38};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Trace trace;
    for (int i = 0; i < 32; ++i) {
      Row& row = trace.rows.emplace_back(Row{448.0 + 64 * i, {}});
      for (int load = 0; load < 1024; ++load)
        row.values.push_back(
            std::round((i >= 26 && load % 1024 < misses_of_last[i - 26] ? 81 : 25) + 0.7 * random.normal()));
      random.shuffle(row.values);
    }
    const Estimate size = find_size(trace);
    EXPECT_NE(size.status, Status::lower_bound) << seed << ": " << *size.value;
    if (size.status != Status::measured) continue;
    EXPECT_EQ(*size.value, 448.0 + 64 * 25) << seed;
  }
}

// A clock that counts in 32s reads hits as 32 or 64 and misses as 96 or 128: four readings of two levels.
TEST(SizeOfOverlappingLevels, IsToldOfReadingsThatATickLiesBetween) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Estimate size = find_size(sweep_of_loads(
        300,
        [](Random& random, int row) {
          if (random.uniform() < 0.005) return std::floor(32 + 150 * random.uniform()) * 32;
          return 32 * std::floor(((row <= last_fitting ? 50 : 110) + 32 * random.uniform()) / 32);
        },
        seed));
    ASSERT_EQ(size.status, Status::measured) << seed << ": " << size.note;
    EXPECT_EQ(*size.value, row_bytes(last_fitting)) << seed;
    EXPECT_EQ(size.method, "binomial_isotonic") << seed;
  }
}

// Hits read as one tick of a coarse clock and misses as the next, beside strangers: hits alone tell, where loads
// together don't differ by more than strangers make them.
TEST(SizeOfOverlappingLevels, IsToldOfLevelsOneTickApartBesideStrangers) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Estimate size = find_size(sweep_of_loads(
        200,
        [](Random& random, int row) {
          if (random.uniform() < 0.05) return std::floor(13 + 69 * random.uniform()) * 8;
          return row <= last_fitting ? 40.0 : 48.0;
        },
        seed));
    EXPECT_NE(size.status, Status::lower_bound) << seed << ": " << *size.value;
    if (size.status == Status::measured) {
      EXPECT_LE(size.interval->low, row_bytes(last_fitting)) << seed;
      EXPECT_GE(size.interval->high, row_bytes(last_fitting)) << seed;
    }
  }
}

// Lines are near or far by themselves, and near ones that miss are nearer than far ones that hit: of a full cache's
// misses the boundary above these shows half.
TEST(SizeOfOverlappingLevels, IsToldWhereLinesAreNearAndFar) {
  constexpr int lines_of_cache = 128;
  int told = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Trace trace;
    std::vector<bool> is_far;
    for (int line = 0; line < 384; ++line) is_far.push_back(random.uniform() < 0.5);
    for (const int lines : {16, 32, 48, 64, 80, 96, 112, 116, 120, 124, 128, 132, 136, 140, 144, 148, 256, 384}) {
      Row& row = trace.rows.emplace_back(Row{128.0 * lines, {}});
      const double share = lines <= lines_of_cache ? 0 : 1 - std::pow(lines_of_cache / static_cast<double>(lines), 4);
      for (int line = 0; line < lines; ++line)
        row.values.push_back(
            std::round((random.uniform() < share ? 134 : 110) + (is_far[line] ? 33 : 0) + 0.5 * random.uniform()));
    }
    const Estimate size = find_size(trace);
    if (size.status == Status::inconclusive) continue;
    ASSERT_NE(size.status, Status::upper_bound) << size.note;
    EXPECT_LE(size.interval ? size.interval->low : *size.value, 128 * (lines_of_cache + 4)) << seed << size.note;
    ++told;
  }
  EXPECT_GE(told, 3);
}

TEST(LoadsThatMoveTogether, AreADriftsAndNoMixtures) {
  const auto moves = [](const Trace& trace) { return do_loads_move_together(trace.rows); };
  const auto noise = [](Random& random) { return 4 * (random.uniform() + random.uniform() - 1); };
  EXPECT_FALSE(moves(Trace{})) << "of no rows, as are left of some";
  const auto drift = [&](Random& random, int row) { return 100 + 0.04 * row * row + noise(random); };
  EXPECT_TRUE(moves(sweep_of_loads(32, drift)));
  EXPECT_FALSE(do_loads_move_together(sweep_of_loads(32, drift).rows, 100)) << "by 64 cycles";
  const auto mixture = [&](Random& random, int row) {
    return (random.uniform() < row / 40.0 ? 164 : 100) + noise(random);
  };
  EXPECT_FALSE(moves(sweep_of_loads(32, mixture)));
  // Hits, misses that another level answers, and misses of that one: rows in the middle are of one kind.
  const auto two_levels = [&](Random& random, int row) {
    const double first = (row - 5) / 8.0, second = (row - 25) / 8.0;
    return (random.uniform() < second ? 300 : random.uniform() < first ? 200 : 100) + noise(random);
  };
  EXPECT_FALSE(moves(sweep_of_loads(32, two_levels)));
  const auto at_once = [&](Random& random, int row) { return (row <= last_fitting ? 100 : 164) + noise(random); };
  EXPECT_FALSE(moves(sweep_of_loads(32, at_once)));
  // Both ends are mixtures themselves.
  const auto more = [&](Random& random, int row) {
    return (random.uniform() < 0.3 + row / 80.0 ? 164 : 100) + noise(random);
  };
  EXPECT_FALSE(moves(sweep_of_loads(32, more)));
}

TEST(LoadsThatMoveTogether, GiveNoSize) {
  for (const double by : {0.02, 0.05, 0.1}) {
    const Trace trace = sweep_of_loads(
        64, [&](Random& random, int row) { return 100 + by * row * row + 2 * (random.uniform() - 0.5); });
    EXPECT_EQ(find_size(trace).status, Status::inconclusive) << by;
  }
}

TEST(TwoLevels, AreNoneThatABoundaryCutsInTwo) {
  const auto noise = [](Random& random) { return 10 * (random.uniform() + random.uniform() + random.uniform() - 1.5); };
  const Trace one = sweep_of_loads(256, [&](Random& random, int) { return 100 + noise(random); });
  const Trace drift = sweep_of_loads(256, [&](Random& random, int row) { return 90 + 0.5 * row + noise(random); });
  for (const double threshold : {95, 100, 107}) {
    EXPECT_FALSE(hold_two_levels(one, threshold)) << threshold;
    EXPECT_FALSE(hold_two_levels(drift, threshold)) << threshold;
  }
  // One miss in a hundred is little of what loads differ by, but lies beyond a gap.
  const Trace few =
      sweep_of_loads(1024, [&](Random& random, int) { return (random.uniform() < 0.01 ? 180 : 100) + noise(random); });
  EXPECT_TRUE(hold_two_levels(few, 140));
  // Least, middle, mean and greatest latency: as many lie between levels as at each.
  Trace statistics;
  for (int row = 0; row < sweep_rows; ++row) statistics.rows.push_back({row_bytes(row), {98, 100, 120, 160}});
  EXPECT_TRUE(hold_two_levels(statistics, 140));
}

// Too few rows, of too few loads, to see that all of a row become slower together: nor do they lie at two levels.
TEST(LoadsThatMoveTogether, GiveNoSizeWhereFewRowsShowThem) {
  for (const double by : {0.5, 1.0, 1.5})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Trace trace = sweep_of_loads(
          16,
          [&](Random& random, int row) {
            return 100 + by * row + 2 * (random.uniform() + random.uniform() + random.uniform() - 1.5);
          },
          seed);
      trace.rows.resize(10);
      EXPECT_EQ(find_size(trace).status, Status::inconclusive) << by << " " << seed;
    }
}

// Few loads a row, all of which become slower with time: a boundary cuts their one level in two, and nobody saw that
// those of the first rows which lie beyond it miss.
TEST(LoadsThatMoveTogether, GiveNoBoundWhereTheyBeginAlike) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Trace trace = sweep_of_loads(
        16, [](Random& random, int row) { return 40 + 0.1 * std::max(0, row - 20) + 2 * random.normal(); }, seed);
    EXPECT_NE(find_size(trace).status, Status::upper_bound) << seed;
  }
}

// A cache of random replacement that even the first row overflows: means rise as smoothly as a drift's.
TEST(LoadsThatMoveTogether, AreNotThoseOfTwoLevels) {
  const Trace trace = sweep_of_loads(64, [](Random& random, int row) {
    return (random.uniform() < 0.3 + 0.02 * row - 0.0002 * row * row ? 164 : 100) + 4 * random.uniform();
  });
  EXPECT_EQ(find_size(trace).status, Status::upper_bound);
}

// Each row's mean and standard deviation, which differ by more than rows do: of what both are on average nothing is
// told.
TEST(LoadsThatMoveTogether, AreNotTwoNumbersOfDifferentKinds) {
  Trace trace = sweep_of_loads(2, [](Random&, int) { return 1; });
  for (int i = 0; i < sweep_rows; ++i) {
    const double missing = i <= last_fitting ? 0 : 1 - row_bytes(last_fitting) / row_bytes(i);
    trace.rows[i].values = {120 + 60 * missing + 0.1 * (i % 3), 2 + 60 * std::sqrt(missing * (1 - missing))};
  }
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, row_bytes(last_fitting));
}

// Ever more misses of each row from the tenth on, less than a full cache's: none of them is where it is full.
TEST(SetsThatFillUnevenly, GiveWhatFitsForSure) {
  Trace trace;
  for (int i = 0; i < 36; ++i) {
    Row& row = trace.rows.emplace_back();
    const int lines = 72 + 8 * i, past = std::max(0, i - 8);
    row.control = 32.0 * lines;
    const int misses = past == 0 ? 0 : std::min(lines, 3 + past * past / 3);
    for (int k = 0; k < lines; ++k) row.values.push_back(k * misses / lines != (k + 1) * misses / lines ? 100 : 40);
  }
  const Estimate said = find_size(trace);
  EXPECT_EQ(said.status, Status::lower_bound) << said.value.value_or(0) << said.note;
  EXPECT_LE(said.value, trace.rows[8].control);
}

// A line or two in every lap are somebody else's, wherever they begin.
TEST(SetsThatFillUnevenly, AreNotOthersLines) {
  Trace trace;
  for (int i = 0; i < 36; ++i) {
    Row& row = trace.rows.emplace_back();
    const int lines = 72 + 8 * i;
    row.control = 32.0 * lines;
    const int misses = i < 8 ? 0 : i < 24 ? 2 : lines;
    for (int k = 0; k < lines; ++k) row.values.push_back(k < misses ? 100 : 40);
  }
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, trace.rows[23].control);
}

}  // namespace
}  // namespace gputopo::evidence
