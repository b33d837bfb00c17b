// Loads that become slower with time, in bursts or by a coarse clock, and caches that do the same beside it.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr int lines_of_first = 64, lines_a_row = 4, timed_rows = 24, last_of_cache = 11;

int lines_of(int row) {
  return lines_of_first + lines_a_row * row;
}

double bytes_of(int row) {
  return 64.0 * lines_of(row);
}

// A load a line; `cycles` of a row and how many loads it is from its first one.
Trace timed_sweep(const std::function<double(Random&, int row, int load)>& cycles) {
  Random random(1);
  Trace trace;
  for (int i = 0; i < timed_rows; ++i) {
    Row& row = trace.rows.emplace_back();
    row.control = bytes_of(i);
    for (int k = 0; k < lines_of(i); ++k)
      row.values.push_back(std::round(cycles(random, i, k) + 2 * (random.uniform() + random.uniform() - 1)));
  }
  return trace;
}

double share_missing(int row) {
  return row <= last_of_cache ? 0 : std::min(1.0, 0.2 * (row - last_of_cache));
}

// From the middle of a row on a clock is slower.
bool is_slow(int row, int load) {
  return row > 7 || (row == 7 && load >= lines_of(7) / 3);
}

TEST(LoadsThatFollowTime, GiveNoSize) {
  for (const double by : {1.1, 1.2, 1.4}) {
    const Estimate said =
        find_size(timed_sweep([&](Random&, int row, int load) { return 100 * (is_slow(row, load) ? by : 1); }));
    EXPECT_EQ(said.status, Status::inconclusive) << by << ": " << said.value.value_or(0);
  }
}

// Nothing scatters, so that all rows ascend: one row alone has two kinds of loads.
TEST(LoadsThatFollowTime, GiveNoSizeWithoutNoise) {
  Trace trace = timed_sweep([](Random&, int row, int load) { return is_slow(row, load) ? 1200 : 1000; });
  for (Row& row : trace.rows)
    for (double& cycles : row.values) cycles = cycles > 1100 ? 1200 : 1000;
  const Estimate said = find_size(trace);
  EXPECT_EQ(said.status, Status::inconclusive) << said.value.value_or(0);
}

// Five loads in a hundred of the row are slow, its last ones.
TEST(LoadsThatFollowTime, GiveNoSizeByTheEndOfARow) {
  const Estimate said = find_size(timed_sweep([](Random&, int row, int load) {
    return 100 * (row > 7 || (row == 7 && load >= lines_of(7) * 19 / 20) ? 1.2 : 1);
  }));
  EXPECT_EQ(said.status, Status::inconclusive) << said.value.value_or(0);
}

// A clock that comes and goes, faster or slower than rows do.
TEST(LoadsThatFollowTime, GiveNoSizeWhereTheyComeAndGo) {
  constexpr int phases = 8;
  int told = 0;
  for (const double rows_a_period : {0.7, 1.5, 4.0, 9.0, 30.0})
    for (int phase = 0; phase < phases; ++phase) {
      const Estimate said = find_size(timed_sweep([&](Random&, int row, int load) {
        const double rows = row + static_cast<double>(load) / lines_of(row);
        return 100 * (1.1 + 0.1 * std::sin(2 * M_PI * (rows / rows_a_period + static_cast<double>(phase) / phases)));
      }));
      told += said.status == Status::measured || said.status == Status::upper_bound ? 1 : 0;
    }
  EXPECT_LE(told, 1);
}

// The same, one after the other without noise, as if each row had been sorted.
TEST(LoadsThatFollowTime, GiveNoSizeWhereEachRowBeginsWhereAnotherEnds) {
  for (const double over_all : {0.1, 0.3}) {
    Trace trace;
    int loads = 0;
    for (int row = 0; row < 4; ++row) {
      trace.rows.push_back({bytes_of(row), {}});
      for (int load = 0; load < lines_of(row); ++load)
        trace.rows.back().values.push_back(100 * (1 + over_all * loads++ / (4 * lines_of(3))));
    }
    const Estimate said = find_size(trace);
    EXPECT_NE(said.status, Status::measured) << over_all << ": " << said.value.value_or(0);
  }
}

// Of a row, four loads or all but four.
TEST(LoadsThatFollowTime, GiveNoSizeByAFewLoadsOfARow) {
  for (const int from : {4, lines_of(7) - 4}) {
    const Estimate said = find_size(timed_sweep(
        [&](Random&, int row, int load) { return 100 * (row > 7 || (row == 7 && load >= from) ? 1.2 : 1); }));
    EXPECT_EQ(said.status, Status::inconclusive) << from << ": " << said.value.value_or(0);
  }
}

// Slower and faster again by less than levels scatter, so that rows' means alone tell.
TEST(LoadsThatFollowTime, GiveNoSizeByMeansThatComeAndGo) {
  for (const double phase : {0.0, 1.5, 3.0, 4.5}) {
    const Estimate said = find_size(timed_sweep([&](Random& random, int row, int load) {
      const double rows = row + static_cast<double>(load) / lines_of(row);
      return 100 + 4 * std::sin(2 * M_PI * rows / 5 + phase) + 4 * (random.uniform() - 0.5);
    }));
    EXPECT_NE(said.status, Status::measured) << phase << ": " << said.value.value_or(0);
  }
}

// Hits read 0 or a tick, misses three or four, of a clock that counts in no power of two.
TEST(LoadsByACoarseClock, AreOfNoMoreLevelsThanTheyWere) {
  constexpr double tick = 50;
  Trace trace = timed_sweep([](Random& random, int row, int) {
    return random.uniform() < share_missing(row) ? 158 + 25 * random.uniform() : 20 + 25 * random.uniform();
  });
  for (Row& row : trace.rows)
    for (double& cycles : row.values) cycles = tick * std::round(cycles / tick);
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_LE(said.interval->low, bytes_of(last_of_cache));
  EXPECT_GE(said.interval->high, bytes_of(last_of_cache));
}

// Every row overflows, and what misses becomes slower with size: where it does by most is no row that fits.
TEST(RowsThatAllOverflow, GiveNoSizeWhereMissesBecomeSlower) {
  for (const double scatter : {0.0, 8.0}) {
    const Estimate said = find_size(timed_sweep([&](Random& random, int row, int) {
      const double missing = 1 - 0.6 / (1 + 0.15 * row), slower = 60 * std::log(1 + 0.1 * row);
      return random.uniform() < missing ? 290 + slower + scatter * (random.uniform() + random.uniform() - 1) : 145;
    }));
    EXPECT_NE(said.status, Status::measured) << scatter << ": " << said.value.value_or(0);
    EXPECT_NE(said.status, Status::lower_bound) << scatter;
  }
}

// Something else slows one stretch of loads, in the last row or any other.
TEST(LoadsThatFollowTime, GiveNoSizeByOneBurst) {
  for (const int slowed : {timed_rows - 1, 5})
    for (const int loads : {10, 20, 40}) {
      const Estimate said = find_size(timed_sweep(
          [&](Random&, int row, int load) { return row == slowed && load >= 20 && load < 20 + loads ? 160 : 100; }));
      EXPECT_TRUE(said.status == Status::lower_bound || said.status == Status::inconclusive)
          << slowed << ", " << loads << ": " << said.value.value_or(0);
    }
}

TEST(LoadsThatFollowTime, HideNoCache) {
  for (const double by : {1.1, 1.2, 1.4}) {
    const Estimate said = find_size(timed_sweep([&](Random& random, int row, int load) {
      return (random.uniform() < share_missing(row) ? 160 : 100) * (is_slow(row, load) ? by : 1);
    }));
    ASSERT_EQ(said.status, Status::measured) << by << ": " << said.note;
    EXPECT_EQ(said.value, bytes_of(last_of_cache)) << by;
  }
}

// A cache that keeps what came first misses at the end of each row: that begins anew with the next one.
TEST(LoadsThatFollowTime, AreNotAPlaceInEachRow) {
  const Estimate said =
      find_size(timed_sweep([](Random&, int, int load) { return load < lines_of(last_of_cache) ? 100 : 160; }));
  ASSERT_TRUE(said.has_value()) << said.note;
  EXPECT_EQ(said.value, bytes_of(last_of_cache));
}

// So many loads of the row behind what fits miss, and all of those of later ones.
int cycles_past(Random& random, int row, double of_next) {
  const double missing = row <= last_of_cache ? 0 : row == last_of_cache + 1 ? of_next : 1;
  return random.uniform() < missing ? 160 : 100;
}

// Percentiles, say.
TEST(LoadsThatFollowTime, AreNotSortedOnes) {
  Trace trace = timed_sweep([](Random& random, int row, int) { return cycles_past(random, row, 0.5); });
  for (Row& row : trace.rows) std::ranges::sort(row.values);
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, bytes_of(last_of_cache));
}

// Of a second pass, loads come behind those of the first one in the same row, not before those of the next.
TEST(LoadsThatFollowTime, AreThoseOfRowsInTheOrderOfTheFile) {
  const auto pass = [](double missing_of_next) {
    return timed_sweep([=](Random& random, int row, int) { return cycles_past(random, row, missing_of_next); });
  };
  Trace trace = pass(0.3);
  const Trace second = pass(1);
  trace.rows.insert(trace.rows.end(), second.rows.rbegin(), second.rows.rend());
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, bytes_of(last_of_cache));
}

}  // namespace
}  // namespace gputopo::evidence
