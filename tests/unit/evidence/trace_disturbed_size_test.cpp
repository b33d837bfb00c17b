// What happens to a GPU while somebody else's trace is recorded: rows that a neighbour slows, clocks that change or
// count in steps, averages over laps, lines that always lie far away. None of it is a capacity.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

double footprint(int row) {
  return 16384 + 256 * row;
}

/// Load `load` of row `row` takes `cycles(row, load)`.
Trace disturbed_sweep(int rows, int loads, const std::function<double(int row, int load)>& cycles) {
  Trace trace;
  for (int i = 0; i < rows; ++i) {
    Row& row = trace.rows.emplace_back();
    row.control = footprint(i);
    for (int load = 0; load < loads; ++load) row.values.push_back(std::round(cycles(i, load)));
  }
  return trace;
}

// What fits in a larger footprint fitted in these, whatever made them slow.
TEST(SizeOfDisturbedTraces, RowsThatFitAgainLaterAreNoCapacity) {
  for (const int loads : {31, 255})
    for (const double slower : {1.05, 1.3, 2.0})
      for (const int rows : {2, 5}) {
        const Trace trace =
            disturbed_sweep(32, loads, [&](int row, int) { return row >= 11 && row < 11 + rows ? 100 * slower : 100; });
        const Estimate said = find_size(trace);
        EXPECT_EQ(said.status, Status::lower_bound)
            << loads << " loads, " << rows << " rows " << slower << ": " << said.note;
        EXPECT_EQ(said.value, footprint(31));
      }
}

// Two of a few rows, and the last but one: what fits behind it fits in it as well. Every other load is slow there, as
// where two go to a line: of as many lines as are looked at all fit.
TEST(SizeOfDisturbedTraces, SingleRowsThatFitAgainAreNoCapacity) {
  for (const auto& slow : {std::vector{3, 9}, std::vector{10}, std::vector{2, 10}}) {
    const Trace trace = disturbed_sweep(12, 32, [&](int row, int load) {
      return load % 2 == 0 && std::find(slow.begin(), slow.end(), row) != slow.end() ? 90 : 40;
    });
    const Estimate said = find_size(trace);
    EXPECT_EQ(said.status, Status::lower_bound) << slow.front() << ": " << said.note;
    EXPECT_EQ(said.value, footprint(11));
    const Trace means =
        disturbed_sweep(16, 1, [&](int row, int) { return row == slow.front() ? 95 : 40 + 7 * row % 3; });
    EXPECT_EQ(find_size(means).status, Status::lower_bound) << slow.front();
  }
}

// One row that fits lies between it and what doesn't.
TEST(SizeOfDisturbedTraces, ARowBeforeTheLastThatFitsIsNone) {
  const Trace trace =
      disturbed_sweep(24, 16, [](int row, int load) { return row > 12 || (row == 11 && load % 2 == 0) ? 90 : 40; });
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, footprint(12));
}

// Ever more is missing, but less than of a cache that is full where that begins: it holds more than that.
TEST(SizeOfDisturbedTraces, SetsThatFillUnevenlyGiveABound) {
  Random random(4);
  Trace trace;
  for (int row = 0; row < 28; ++row) {
    const int loads = 64 + 16 * row;
    Row& r = trace.rows.emplace_back();
    r.control = 64.0 * loads;
    for (int load = 0; load < loads; ++load)
      r.values.push_back(random.uniform() < (row > 7 ? 0.02 + 0.01 * row : 0) ? 200 : 60);
  }
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::lower_bound) << said.value.value_or(0) << said.note;
  EXPECT_EQ(said.value, trace.rows[7].control);
}

// Of thousands of rows those that fit scatter, and levels that only rise follow that.
TEST(SizeOfDisturbedTraces, ManyRowsThatScatterFitAllTheSame) {
  Random random(3);
  Trace trace;
  for (int row = 1; row <= 2000; ++row) {
    Row& r = trace.rows.emplace_back();
    r.control = 32.0 * row;
    const double missing = 0.005 + std::max(0.0, 3.0 * (row - 1200) / 2000);
    for (int load = 0; load < 64; ++load) r.values.push_back(random.uniform() < missing ? 240 : 40);
  }
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.value.value_or(0) << said.note;
  EXPECT_NEAR(*said.value, 32.0 * 1200, 32.0 * 15);
}

TEST(SizeOfDisturbedTraces, AClockThatSettlesHasNoSize) {
  const Trace alone =
      disturbed_sweep(30, 64, [](int row, int) { return 100 * (1 + 0.3 * (1 - std::exp(-row / 4.0))); });
  EXPECT_EQ(find_size(alone).status, Status::inconclusive);
}

// A next level is no drift of what misses, whether it fills at once or by and by.
TEST(SizeOfDisturbedTraces, TheFirstOfTwoCachesIsToldBeforeTheNext) {
  for (const bool at_once : {true, false}) {
    const Trace trace = disturbed_sweep(60, 64, [&](int row, int load) {
      const bool is_past_next = row > 39 && (at_once || load < 3 * (row - 39));
      return row <= 15 ? 40 : is_past_next ? 500 : 200;
    });
    const Estimate said = find_size(trace);
    ASSERT_EQ(said.status, Status::measured) << at_once << said.note;
    EXPECT_EQ(said.value, footprint(15)) << at_once;
  }
}

// The capacity is told beside them.
TEST(SizeOfDisturbedTraces, RowsThatFitAgainDontHideTheCapacity) {
  const Trace trace = disturbed_sweep(40, 255, [](int row, int load) {
    if (row == 5 || row == 6 || row == 7) return 150.0;
    return row > 20 && load < 12 * (row - 20) ? 150.0 : 50.0;
  });
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, footprint(20));
}

TEST(SizeOfDisturbedTraces, AllLoadsALittleSlowerAreNoLevel) {
  for (const int before : {1, 2, 8}) {
    const Trace trace = disturbed_sweep(before + 8, 255, [&](int row, int) { return row < before ? 120 : 124; });
    EXPECT_EQ(find_size(trace).status, Status::inconclusive) << before;
  }
}

// Misses 5 % slower than hits, or by a single cycle, can't be told from drift, nor can it be said that there are none.
TEST(SizeOfDisturbedTraces, LevelsAsNearAsDriftAreLeftOpen) {
  const Trace near =
      disturbed_sweep(20, 255, [](int row, int load) { return row > 9 && load < 16 * (row - 9) ? 290 : 280; });
  EXPECT_EQ(find_size(near).status, Status::inconclusive);
  const Trace by_a_cycle = disturbed_sweep(20, 255, [](int row, int) { return row > 9 ? 21 : 20; });
  EXPECT_EQ(find_size(by_a_cycle).status, Status::inconclusive);
}

// A clock that drifts takes all loads of a row across a boundary.
TEST(SizeOfDisturbedTraces, AClockThatDriftsHasNoSize) {
  for (const double by : {0.05, 0.2, 0.5}) {
    const Trace trace = disturbed_sweep(40, 255, [&](int row, int) { return 170 * (1 + by * row / 40); });
    const Estimate said = find_size(trace);
    EXPECT_EQ(said.status, Status::inconclusive) << by << ": " << said.note;
  }
}

// Loads of 254 cycles are as many in each row: they lie far away, and what misses takes 150.
TEST(SizeOfDisturbedTraces, LinesThatAlwaysLieFarAwayAreNoMisses) {
  const Trace trace = disturbed_sweep(40, 255, [](int row, int load) {
    if (load >= 225) return 254;
    return row > 19 && load < 8 * (row - 19) ? 150 : 54;
  });
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, footprint(19));
}

// Another program begins while the last rows are recorded: it delays loads by anything from nothing on.
TEST(SizeOfDisturbedTraces, LoadsThatAreDelayedAtTheEndAreNoLevel) {
  for (const double share : {0.2, 0.5})
    for (const int rows : {1, 3}) {
      Random random(11);
      const Trace trace = disturbed_sweep(24, 200, [&](int row, int) {
        const double delay = row >= 24 - rows && random.uniform() < share ? -80 * std::log(1 - random.uniform()) : 0;
        return 120 + random.normal() + delay;
      });
      const Estimate said = find_size(trace);
      EXPECT_TRUE(said.status == Status::inconclusive || said.status == Status::lower_bound) << share << ", " << rows;
    }
}

// The same delays on top of a level's latency begin where that ends.
TEST(SizeOfDisturbedTraces, MissesThatAreDelayedAreALevel) {
  Random random(11);
  const Trace trace = disturbed_sweep(24, 200, [&](int row, int) {
    const double miss = row >= 21 && random.uniform() < 0.5 ? 60 - 80 * std::log(1 - random.uniform()) : 0;
    return 120 + random.normal() + miss;
  });
  EXPECT_EQ(find_size(trace).value, footprint(20));
}

// However many it delays.
TEST(SizeOfDisturbedTraces, LoadsThatAreDelayedEverMoreOftenAreNoLevel) {
  Random random(11);
  const Trace trace = disturbed_sweep(24, 400, [&](int row, int) {
    const double delay = random.uniform() < 0.1 * (row - 18) ? -80 * std::log(1 - random.uniform()) : 0;
    return 120 + random.normal() + delay;
  });
  const Estimate said = find_size(trace);
  EXPECT_TRUE(said.status == Status::inconclusive || said.status == Status::lower_bound) << said.note;
}

// Means of eight laps, of which few miss: those of two are rarer than those of one, but the less so the more miss.
TEST(SizeOfDisturbedTraces, MeansOfLapsThatMissEverMoreOftenAreALevel) {
  Random random(11);
  constexpr int laps = 8;
  const Trace trace = disturbed_sweep(60, 512, [&](int row, int load) {
    double cycles = 210 + 2.5 * (load % 8) + random.normal() / 6;
    for (int lap = 0; lap < laps; ++lap)
      if (random.uniform() < 0.006 * (row - 39)) cycles += (150 + 60 * random.uniform()) / laps;
    return cycles;
  });
  const Estimate said = find_size(trace);
  EXPECT_EQ(said.status, Status::measured) << said.note;
  EXPECT_EQ(said.value, footprint(39));
}

// A clock that drops twice makes more loads slow, and all the slower: fast ones, too.
TEST(SizeOfDisturbedTraces, ClocksThatDropTwiceAreNoLevel) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Trace trace = disturbed_sweep(32, 64, [&](int row, int) {
      return (33 + 6 * random.normal()) * (row < 10 ? 1 : row < 22 ? 1.15 : 1.3);
    });
    EXPECT_NE(find_size(trace).status, Status::measured) << seed;
  }
}

/// Laps over lines of 64 B, timed by a clock that counts `tick` cycles, as means of their loads, written to a
/// hundredth.
Trace means_of_timed_laps(int laps, double tick, std::uint64_t seed, const std::function<double(int row)>& cycles) {
  Random random(seed);
  Trace trace;
  for (int i = 0; i < 30; ++i) {
    const double loads = 32 + i;
    Row& row = trace.rows.emplace_back();
    row.control = 64 * loads;
    for (int lap = 0; lap < laps; ++lap) {
      const double ticks = std::floor(random.uniform() + loads * cycles(i) / tick);
      row.values.push_back(std::round(100 * ticks * tick / loads) / 100);
    }
  }
  return trace;
}

// A tick more or less is a share of each load's time, the larger the shorter the lap, and rises from row to row do.
TEST(SizeOfDisturbedTraces, TicksOfWholeLapsAreNoChange) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Estimate said = find_size(means_of_timed_laps(1, 1000, seed, [](int) { return 33; }));
    EXPECT_TRUE(said.status == Status::inconclusive || said.status == Status::lower_bound) << seed;
  }
}

TEST(SizeOfDisturbedTraces, ChangesOfSeveralTicksOfLapsAreTold) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Trace trace = means_of_timed_laps(5, 400, seed, [](int row) { return row < 17 ? 33 : 233; });
    const Estimate said = find_size(trace);
    ASSERT_EQ(said.status, Status::measured) << seed << ": " << said.note;
    EXPECT_LE(said.interval->low, trace.rows[16].control) << seed;
    EXPECT_GE(said.interval->high, trace.rows[16].control) << seed;
  }
}

// A clock that slows while it warms up: all rows that fit rise, and by more than they scatter, the last one, too.
TEST(SizeOfDisturbedTraces, RowsThatRiseSteadilyMayAllFit) {
  const Trace trace{{{6016, {29.32}},   {6336, {29.89}},   {6720, {30.55}},   {7040, {31.05}},   {7424, {31.58}},
                     {7808, {32.26}},   {8128, {32.65}},   {8512, {99.07}},   {8832, {162.37}},  {9216, {234.04}},
                     {9536, {236.8}},   {9920, {239.33}},  {10240, {241.56}}, {10624, {243.87}}, {10944, {246}},
                     {11328, {247.7}},  {11648, {249.33}}, {12032, {250.83}}, {12352, {252.14}}, {12736, {253.37}},
                     {13056, {254.43}}, {13440, {255.08}}, {13760, {256.15}}, {14144, {256.8}},  {14528, {257.4}},
                     {14848, {258.17}}, {15232, {258.54}}}};
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_LE(said.interval->low, 8128);
  EXPECT_EQ(said.interval->high, 8128);
  EXPECT_LE(*said.confidence, 0.5) << "the row before is as likely";
}

// Where far hits take as long as misses nobody knows what a row that fits has of them.
TEST(SizeOfDisturbedTraces, FarHitsLikeMissesLeaveTheSizeOpen) {
  const Trace trace = disturbed_sweep(40, 255, [](int row, int load) {
    if (load >= 195) return 114;
    return row > 19 && load < 8 * (row - 19) ? 116 : 54;
  });
  EXPECT_EQ(find_size(trace).status, Status::inconclusive);
}

// Each value is an average over laps, of which ever more miss: the first footprint that any of them missed in is the
// first too large, long before a value looks like a miss.
TEST(SizeOfDisturbedTraces, AveragesThatRiseSayFromWhere) {
  const Trace trace = disturbed_sweep(40, 255, [](int row, int) { return row < 8 ? 218 : 218 + 6 * (row - 7); });
  const Estimate said = find_size(trace);
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_LE(said.interval->low, footprint(7));
  EXPECT_GE(said.interval->high, footprint(7));
}

// Two latencies have a divisor in common, whatever the clock counts in.
TEST(SizeOfDisturbedTraces, LatenciesInProportionAreLevels) {
  for (const auto& [hit, miss] : {std::pair{38, 76}, {124, 186}, {120, 160}, {20, 40}, {32, 48}, {170, 340}}) {
    const Trace trace = disturbed_sweep(
        20, 255, [hit = hit, miss = miss](int row, int load) { return row > 9 && load < 16 * (row - 9) ? miss : hit; });
    const Estimate said = find_size(trace);
    EXPECT_EQ(said.value, footprint(9)) << hit << ", " << miss << ": " << said.note;
  }
}

TEST(LatencyOfDisturbedTraces, IsAsUnsureAsItsClock) {
  const Trace trace = disturbed_sweep(1, 255, [](int, int load) { return load % 3 == 0 ? 160 : 176; });  // of 170
  const Estimate said = find_latency(trace);
  ASSERT_TRUE(said.interval);
  EXPECT_LE(said.interval->low, 170);
  EXPECT_GE(said.interval->high, 170);
}

}  // namespace
}  // namespace gputopo::evidence
