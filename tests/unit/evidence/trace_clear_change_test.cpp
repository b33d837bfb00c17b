// Traces in which a reader sees where the change is, or that nothing tells: each drawn many times, since chance alone
// hides what a single one would show.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr std::uint64_t draws = 60;
// Intervals of 95 % leave out three of sixty, by chance up to eight (three standard deviations).
constexpr std::uint64_t few_draws = 8;

using Cycles = std::function<double(Random&, std::size_t row, std::size_t load)>;

double clear_row_bytes(std::size_t row) {
  return static_cast<double>(8192 + 256 * row);
}

Trace clear_trace(std::size_t rows, const std::function<std::size_t(std::size_t row)>& loads, const Cycles& cycles,
                  std::uint64_t seed) {
  Random random(seed);
  Trace trace;
  for (std::size_t row = 0; row < rows; ++row) {
    Row& r = trace.rows.emplace_back();
    r.control = clear_row_bytes(row);
    for (std::size_t load = 0; load < loads(row); ++load) r.values.push_back(cycles(random, row, load));
  }
  return trace;
}

std::size_t whole_lap(std::size_t row) {
  return 64 + 8 * row;
}

struct Verdicts {
  std::uint64_t measured = 0, without_truth = 0, upper_bounds = 0;
};

using Draw = std::function<Trace(std::uint64_t seed)>;

// `last_fitting`: the footprint of the last row that fits; 0: no row is.
Verdicts judge_all(const Draw& draw, double last_fitting) {
  Verdicts verdicts;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Estimate said = find_size(draw(seed));
    verdicts.upper_bounds += said.status == Status::upper_bound ? 1 : 0;
    if (said.status != Status::measured) continue;
    ++verdicts.measured;
    verdicts.without_truth += last_fitting < said.interval->low || last_fitting > said.interval->high ? 1 : 0;
  }
  return verdicts;
}

// Means over laps of a cache of 12 KiB that replaces any line: it is too small from the first row on, and its misses
// rise steadily.
TEST(ClearChanges, MeansThatRiseFromTheStartAreOfNoSize) {
  const Trace trace{
      {{18176, {1195.1}}, {18784, {1213.9}}, {19424, {1321.9}}, {20032, {1359.4}}, {20672, {1387.0}}, {21280, {1395.1}},
       {21920, {1461.2}}, {22528, {1528.2}}, {23136, {1521.0}}, {23776, {1515.3}}, {24384, {1573.4}}, {25024, {1593.3}},
       {25632, {1612.7}}, {26240, {1632.1}}, {26880, {1659.4}}, {27488, {1670.4}}, {28128, {1687.6}}, {28736, {1665.1}},
       {29376, {1711.1}}, {29984, {1709.4}}, {30592, {1741.2}}, {31232, {1740.1}}, {31840, {1759.0}}, {32480, {1755.0}},
       {33088, {1760.0}}, {33696, {1807.7}}, {34336, {1803.3}}, {34944, {1795.4}}, {35584, {1800.6}}, {36192, {1814.0}},
       {36832, {1809.9}}, {37440, {1815.7}}, {38048, {1809.2}}, {38688, {1825.9}}, {39296, {1850.4}}, {39936, {1835.7}},
       {40544, {1844.1}}, {41152, {1853.5}}, {41792, {1851.9}}, {42400, {1841.8}}, {43040, {1845.1}}, {43648, {1862.3}},
       {44288, {1865.9}}, {44896, {1855.5}}, {45504, {1866.1}}, {46144, {1864.7}}}};
  EXPECT_EQ(find_size(trace).status, Status::inconclusive);
}

void expect_told(const Draw& draw, double last_fitting, std::uint64_t at_least) {
  const Verdicts verdicts = judge_all(draw, last_fitting);
  EXPECT_GE(verdicts.measured, at_least);
  EXPECT_LE(verdicts.without_truth, few_draws);
}

// As many strangers as there may be, as slow as misses; by chance more.
TEST(ClearChanges, StrangersAsSlowAsMissesDontHideWhereAllMiss) {
  const auto draw = [](std::uint64_t seed) {
    return clear_trace(
        18, whole_lap,
        [](Random& random, std::size_t row, std::size_t) {
          return std::round((row > 8 || random.uniform() < 0.055 ? 211 : 195) + random.normal());
        },
        seed);
  };
  expect_told(draw, clear_row_bytes(8), draws * 9 / 10);
}

// Hits that a clock makes slower by a tick while misses of several times as long begin.
TEST(ClearChanges, ATickIsNoLevelBesideAFarOne) {
  const auto draw = [](std::uint64_t seed) {
    return clear_trace(
        20, [](std::size_t row) { return 4 * whole_lap(row); },
        [](Random& random, std::size_t row, std::size_t) {
          const double missing = row > 10 ? 0.045 * static_cast<double>(row - 10) : 0;
          const double cycles = random.uniform() < missing ? 860 + 40 * random.uniform() : 174 + 2 * random.normal();
          return 2 * std::floor((cycles * (1 + 0.0005 * static_cast<double>(row))) / 2 + random.uniform());
        },
        seed);
  };
  expect_told(draw, clear_row_bytes(10), draws * 9 / 10);
}

// One level that becomes 3 % slower with time, of few cycles: two neighbouring readings are no two levels.
TEST(ClearChanges, ALevelThatABoundaryCutsInTwoIsOfNoSize) {
  const auto draw = [](std::uint64_t seed) {
    Random random(seed);
    Trace trace;
    double done = 0;
    for (double lines = 129; trace.rows.size() < 10; lines *= 1.12) {
      Row& row = trace.rows.emplace_back();
      for (row.control = 256 * std::floor(lines); row.values.size() < static_cast<std::size_t>(lines); ++done) {
        const double stranger = random.uniform() < 0.002 ? 700 : 0;
        row.values.push_back(std::round((46 + 1.25 * random.normal() + stranger) * (1 + 0.03 * done / 2264)));
      }
    }
    return trace;
  };
  EXPECT_EQ(judge_all(draw, 0).measured, 0);
}

// Any 32 loads of a lap, 4 a line, through sets that overflow one after the other: neighbours miss together, and a part
// of a lap meets them or doesn't.
TEST(ClearChanges, PartsOfLapsMayMissTheFirstSetsThatOverflow) {
  constexpr std::size_t sets = 52, ways = 6, loads_a_line = 4, recorded = 32, lines_a_row = 4, first = 18 * lines_a_row;
  const auto draw = [&](std::uint64_t seed) {
    Random random(seed);
    Trace trace;
    for (std::size_t row = 0; row < 40; ++row) {
      const std::size_t lines = sets * ways - first + row * lines_a_row,
                        too_many = lines - std::min(lines, sets * ways);
      const auto from =
          static_cast<std::size_t>(random.uniform() * static_cast<double>(lines - recorded / loads_a_line));
      Row& r = trace.rows.emplace_back();
      r.control = static_cast<double>(64 * lines);
      for (std::size_t i = 0; i < recorded; ++i) {
        const bool misses = i % loads_a_line == 0 && (from + i / loads_a_line) % sets < too_many;
        r.values.push_back(std::round((misses ? 142 : 28) + 0.5 * random.normal()));
      }
    }
    return trace;
  };
  expect_told(draw, 64.0 * sets * ways, draws / 2);
}

// A clock that drops by 3 % right before the end: misses and strangers as slow are two readings of one level.
TEST(ClearChanges, AClockThatDropsMakesNoTwoLevelsOfOne) {
  const auto draw = [](std::uint64_t seed) {
    return clear_trace(
        23, [](std::size_t row) { return 120 + 4 * row; },
        [](Random& random, std::size_t row, std::size_t) {
          const double missing = row > 18 ? 0.25 * static_cast<double>(row - 18) : 0.03;
          const double cycles = (random.uniform() < missing ? 191 : 38) + random.normal();
          return std::round(row > 16 ? 1.03 * cycles : cycles);
        },
        seed);
  };
  expect_told(draw, clear_row_bytes(18), draws * 9 / 10);
}

// Averages of laps, of the first row as well, that somebody else slowed down: each lap goes to the same lines.
TEST(ClearChanges, LapsOfTheFirstRowThatOthersSlowedFit) {
  const auto draw = [](std::uint64_t seed) {
    return clear_trace(
        5, [](std::size_t) { return 5; },
        [](Random& random, std::size_t row, std::size_t) {
          const double stranger = random.uniform() < 0.4 ? 100 * random.uniform() : 0;
          return (row > 1 ? 138 : 44) + stranger + 0.01 * random.normal();
        },
        seed);
  };
  EXPECT_EQ(judge_all(draw, clear_row_bytes(1)).upper_bounds, 0);
}

// Parts of laps through a cache of two ways that begin anywhere: what misses lies together, each time elsewhere.
TEST(ClearChanges, RunsOfMissesThatComeAgainElsewhereAreNoInterruptions) {
  constexpr std::size_t sets = 64, ways = 2, recorded = 64, lines_a_row = 8, fitting_rows = 10;
  const auto draw = [&](std::uint64_t seed) {
    Random random(seed);
    Trace trace;
    for (std::size_t row = 0; row < 34; ++row) {
      const std::size_t lines = sets * ways + (row + 1) * lines_a_row - fitting_rows * lines_a_row;
      const std::size_t too_many = lines - std::min(lines, sets * ways), length = std::min(recorded, lines);
      const auto from = static_cast<std::size_t>(random.uniform() * static_cast<double>(lines - length));
      Row& r = trace.rows.emplace_back();
      r.control = static_cast<double>(32 * lines);
      for (std::size_t i = 0; i < length; ++i)
        r.values.push_back(
            4 * std::floor((((from + i) % sets < too_many ? 99 : 36) + 2 * random.normal()) / 4 + random.uniform()));
    }
    return trace;
  };
  expect_told(draw, 32.0 * sets * ways, draws / 2);
}

}  // namespace
}  // namespace gputopo::evidence
