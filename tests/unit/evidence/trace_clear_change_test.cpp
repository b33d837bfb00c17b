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

std::size_t one_load(std::size_t) {
  return 1;
}

std::size_t whole_lap(std::size_t row) {
  return 64 + 8 * row;
}

struct Verdicts {
  std::uint64_t measured = 0, without_truth = 0, upper_bounds = 0;
};

// `last_fitting`: a row; none where no row fits, or all.
Verdicts judge_all(const std::function<Trace(std::uint64_t seed)>& draw, double last_fitting) {
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

// A cache that replaces at random and is too small from the first row on: its misses rise steadily, first rows as well.
TEST(ClearChanges, MeansThatRiseFromTheStartAreOfNoSize) {
  const auto draw = [](std::uint64_t seed) {
    return clear_trace(
        46, one_load,
        [](Random& random, std::size_t row, std::size_t) {
          return 252 + 1600 * (1 - 0.42 * std::exp(-static_cast<double>(row) / 12)) + 25 * random.normal();
        },
        seed);
  };
  EXPECT_LE(judge_all(draw, 0).measured, few_draws);
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
  const Verdicts verdicts = judge_all(draw, clear_row_bytes(8));
  EXPECT_GE(verdicts.measured, draws * 9 / 10);
  EXPECT_LE(verdicts.without_truth, few_draws);
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
  const Verdicts verdicts = judge_all(draw, clear_row_bytes(10));
  EXPECT_GE(verdicts.measured, draws * 9 / 10);
  EXPECT_LE(verdicts.without_truth, few_draws);
}

// One level that becomes 3.5 % slower over the sweep, of few cycles: two neighbouring readings are no two levels.
TEST(ClearChanges, ALevelThatABoundaryCutsInTwoIsOfNoSize) {
  const auto draw = [](std::uint64_t seed) {
    return clear_trace(
        10, [](std::size_t row) { return 128 + 24 * row; },
        [](Random& random, std::size_t row, std::size_t) {
          const double cycles = 46 + 0.18 * static_cast<double>(row) + 1.25 * random.normal();
          return std::round(random.uniform() < 0.002 ? cycles + 700 : cycles);
        },
        seed);
  };
  EXPECT_LE(judge_all(draw, 0).measured, few_draws);
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
  const Verdicts verdicts = judge_all(draw, 64.0 * sets * ways);
  EXPECT_GE(verdicts.measured, draws / 2);
  EXPECT_LE(verdicts.without_truth, few_draws);
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
  const Verdicts verdicts = judge_all(draw, clear_row_bytes(18));
  EXPECT_GE(verdicts.measured, draws * 9 / 10);
  EXPECT_LE(verdicts.without_truth, few_draws);
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
  const Verdicts verdicts = judge_all(draw, 32.0 * sets * ways);
  EXPECT_GE(verdicts.measured, draws / 2);
  EXPECT_LE(verdicts.without_truth, few_draws);
}

}  // namespace
}  // namespace gputopo::evidence
