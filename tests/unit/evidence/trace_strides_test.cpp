#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

/// A cold walk of 64 loads at each stride 4, 8, ... `last` over granules of `granularity` bytes.
Trace cold_walks(int granularity, int last, double odd_share = 0) {
  Random random(4);
  Trace trace;
  for (int stride = 4; stride <= last; stride += 4) {
    Row& row = trace.rows.emplace_back();
    row.control = stride;
    for (int load = 1; load <= 64; ++load) {
      const bool is_first = load * stride / granularity != (load - 1) * stride / granularity;
      row.values.push_back(is_first != (random.uniform() < odd_share) ? 300 + 20 * random.uniform() : 38);
    }
  }
  return trace;
}

TEST(FetchGranularity, IsWhereAllLoadsBeginToMiss) {
  for (const int granularity : {16, 32, 64, 128}) {
    const Estimate finding = find_fetch_granularity(cold_walks(granularity, 256));
    EXPECT_EQ(finding.status, Status::measured) << granularity;
    EXPECT_EQ(finding.value, granularity);
    EXPECT_GT(*finding.confidence, 0.5);
  }
  EXPECT_EQ(find_fetch_granularity(cold_walks(64, 256, 0.004)).value, 64);
}

// Something brought in a share of the lines before: as many loads hit at all strides that should miss.
TEST(FetchGranularity, IsToldWhereSomeLinesAreThereBefore) {
  for (const double there : {0.1, 0.3, 0.5}) {
    Random random(7);
    Trace trace = cold_walks(64, 128);
    for (Row& row : trace.rows)
      for (double& value : row.values)
        if (random.uniform() < there) value = 38;
    const Estimate finding = find_fetch_granularity(trace);
    ASSERT_EQ(finding.status, Status::measured) << there << ": " << finding.note;
    EXPECT_EQ(finding.value, 64) << there;
  }
}

/// A cold walk of 64 loads at each of these strides over granules of which a miss brings in the next one as well.
Trace cold_walks_with_next(int granularity, const std::vector<int>& strides) {
  Trace trace;
  for (const int stride : strides) {
    Row& row = trace.rows.emplace_back();
    row.control = stride;
    int brought = -1;  // the last one
    for (int load = 0; load < 64; ++load) {
      const int granule = load * stride / granularity;
      row.values.push_back(granule > brought ? 300 : 38);
      if (granule > brought) brought = granule + 1;
    }
  }
  return trace;
}

// Strides between one granule and two miss on fewer loads than of granules that are twice as long.
TEST(FetchGranularity, IsABoundWhereEachMissBringsTheNextOne) {
  for (const int granularity : {32, 64, 128}) {
    std::vector<int> strides;
    for (int stride = 4; stride <= 4 * granularity; stride += 4) strides.push_back(stride);
    const Estimate finding = find_fetch_granularity(cold_walks_with_next(granularity, strides));
    EXPECT_EQ(finding.status, Status::upper_bound) << granularity << ": " << finding.note;
    EXPECT_EQ(finding.value, 2 * granularity);
  }
}

// No power of two lies between these.
TEST(FetchGranularity, IsABoundWhereNoStrideTellsThatFromGranulesOfTwice) {
  const std::vector<int> strides{4, 8, 16, 32, 64, 128, 256};
  Trace twice = cold_walks(64, 256);
  std::erase_if(twice.rows, [&](const Row& row) {
    return std::find(strides.begin(), strides.end(), static_cast<int>(row.control)) == strides.end();
  });
  for (const Trace& trace : {twice, cold_walks_with_next(32, strides)}) {
    const Estimate finding = find_fetch_granularity(trace);
    EXPECT_EQ(finding.status, Status::upper_bound) << finding.note;
    EXPECT_EQ(finding.value, 64);
    EXPECT_GT(*finding.confidence, 0.9);
  }
}

// Of two levels the faster one counts, also where most strides are longer than what it fetches.
TEST(FetchGranularity, IsThatOfTheFasterLevel) {
  Trace trace = cold_walks(64, 512);
  const Trace slower = cold_walks(128, 512);
  for (std::size_t i = 0; i < trace.rows.size(); ++i)
    for (std::size_t k = 0; k < trace.rows[i].values.size(); ++k)
      if (slower.rows[i].values[k] > 100) trace.rows[i].values[k] = 600;
  const Estimate finding = find_fetch_granularity(trace);
  ASSERT_EQ(finding.status, Status::measured) << finding.note;
  EXPECT_EQ(finding.value, 64);
}

// Nothing but strays lies below the lowest boundary: that all miss there says nothing of a level.
TEST(FetchGranularity, IsNoBoundOfStrays) {
  Random random(5);
  Trace trace = cold_walks(64, 128);
  for (Row& row : trace.rows)
    for (double& value : row.values) value = random.uniform() < 0.001 ? 8 : value;
  const Estimate finding = find_fetch_granularity(trace);
  ASSERT_EQ(finding.status, Status::measured) << finding.value.value_or(0);
  EXPECT_EQ(finding.value, 64);
}

TEST(FetchGranularity, BoundsWhereTheSweepDoesNotReach) {
  const Estimate larger = find_fetch_granularity(cold_walks(256, 96));
  EXPECT_EQ(larger.status, Status::lower_bound);
  EXPECT_EQ(larger.value, 96);
  // Half of the loads miss at the longest stride: any granularity's half of all, or the lines of one that were there.
  const Estimate twice = find_fetch_granularity(cold_walks(256, 128));
  EXPECT_EQ(twice.status, Status::lower_bound);
  EXPECT_GT(*twice.confidence, 0.95);
  Trace all_miss = cold_walks(4, 64);
  all_miss.rows[0].values[3] = 38;
  const Estimate smaller = find_fetch_granularity(all_miss);
  EXPECT_NE(smaller.status, Status::measured);
}

TEST(FetchGranularity, WarmWalksAreInconclusive) {
  Trace trace = cold_walks(32, 128);
  for (Row& row : trace.rows) {
    for (double& value : row.values) {
      value = 38;
    }
  }
  const Estimate finding = find_fetch_granularity(trace);
  EXPECT_EQ(finding.status, Status::inconclusive);
  EXPECT_FALSE(finding.note.empty());
}

/// Warm laps over footprints around a cache of 16 KiB with lines of `line` bytes: everything beyond misses (LRU).
std::vector<StrideSweep> sweeps(double line, double first_stride, double last_stride, double from = 8192,
                                double to = 40960) {
  std::vector<StrideSweep> result;
  for (double stride = first_stride; stride <= last_stride; stride += first_stride) {
    StrideSweep& sweep = result.emplace_back();
    sweep.stride_bytes = stride;
    for (double size = from; size <= to; size += 1024) {
      Row& row = sweep.trace.rows.emplace_back();
      row.control = size;
      const double touched = stride <= line ? size : size * line / stride;
      for (int load = 0; load < 100; ++load) {
        row.values.push_back(touched > 16384 && (stride >= 32 || load % 2 == 0) ? 240 : 40);
      }
    }
  }
  return result;
}

TEST(LineSize, IsTheLongestStrideThatTouchesEveryLine) {
  for (const double line : {32.0, 64.0, 128.0}) {
    const Estimate finding = find_line_size(sweeps(line, 16, 256));
    EXPECT_EQ(finding.status, Status::measured) << line << ": " << finding.note;
    EXPECT_EQ(finding.value, line);
    EXPECT_GT(*finding.confidence, 0.5);
    EXPECT_LE(finding.interval->low, line);
    EXPECT_GE(finding.interval->high, line);
  }
}

/// Laps of an LRU cache of `sets` sets, 4 ways and lines of `line` bytes, by address bits, over footprints from `from`
/// to `to` times what it holds, `step` bytes apart. A line is of whole sectors.
std::vector<StrideSweep> laps_of_lru(std::uint64_t line, const std::vector<std::uint64_t>& strides, std::uint64_t step,
                                     double from = 0.75, double to = 1.5, std::uint64_t sector = 32,
                                     std::uint64_t sets = 16) {
  constexpr std::uint64_t ways = 4;
  const auto capacity = static_cast<double>(sets * ways * line);
  std::vector<StrideSweep> result;
  for (const std::uint64_t stride : strides) {
    StrideSweep& sweep = result.emplace_back();
    sweep.stride_bytes = static_cast<double>(stride);
    const auto first = static_cast<std::uint64_t>(from * capacity) / step * step;
    for (std::uint64_t size = first; static_cast<double>(size) <= to * capacity; size += step) {
      Row& row = sweep.trace.rows.emplace_back();
      row.control = static_cast<double>(size);
      // A set that gets more lines than it has ways misses on all of them.
      std::map<std::uint64_t, std::set<std::uint64_t>> lines_of;
      for (std::uint64_t at = 0; at < size; at += stride) lines_of[at / line % sets].insert(at / line);
      for (std::uint64_t at = 0; at < size; at += stride) {
        const bool is_first = at == 0 || at / sector != (at - stride) / sector;
        row.values.push_back(lines_of[at / line % sets].size() > ways && is_first ? 240 : 40);
      }
    }
  }
  return result;
}

std::vector<StrideSweep> laps_at_powers_of_two(std::uint64_t line, std::uint64_t step) {
  return laps_of_lru(line, {8, 16, 32, 64, 128, 256, 512}, step);
}

/// Whether nothing is said of the line that isn't so.
bool is_right_or_open(const Estimate& finding, double line) {
  if (finding.status == Status::measured) return finding.interval->low <= line && line <= finding.interval->high;
  if (finding.status == Status::lower_bound) return *finding.value <= line;
  return finding.status != Status::upper_bound || *finding.value >= line;
}

// A line between the shortest stride and the second has sectors that are longer than the shortest.
TEST(LineSize, MayLieBetweenTheFirstTwoStrides) {
  for (const std::uint64_t step : {100, 148, 196, 292}) {
    const Estimate finding = find_line_size(laps_of_lru(32, {16, 128, 256}, step));
    EXPECT_TRUE(is_right_or_open(finding, 32)) << *finding.value << ", " << step;
  }
}

// So may an odd multiple of it be all that the shortest stride touches.
TEST(LineSize, IsLessThanAShortestStrideOfThreeLines) {
  for (const std::uint64_t line : {32, 64}) {
    const Estimate finding = find_line_size(laps_of_lru(line, {3 * line, 6 * line, 9 * line}, 6 * line, 0.8, 6));
    EXPECT_TRUE(is_right_or_open(finding, static_cast<double>(line))) << *finding.value;
    EXPECT_EQ(finding.status, Status::upper_bound) << finding.note;
  }
}

// Walks that share no law of strides: the shortest one isn't the only one that touches every line because no other line
// explains the rest.
TEST(LineSize, IsOpenWhereNoLineExplainsTheStrides) {
  const double shares[] = {0.2, 0.9, 0.1, 0.8, 0.05, 0.7};
  std::vector<StrideSweep> sweeps;
  for (std::size_t i = 0; i < std::size(shares); ++i) {
    StrideSweep& sweep = sweeps.emplace_back(StrideSweep{static_cast<double>(32 << i), {}});
    for (int kibi = 2; kibi <= 12; ++kibi) {
      Row& row = sweep.trace.rows.emplace_back(Row{1024.0 * kibi, {}});
      for (int load = 0; load < 400; ++load)
        row.values.push_back(kibi > 4 && load < 400 * shares[i] ? 300 + load % 3 : 40 + load % 3);
    }
  }
  const Estimate finding = find_line_size(sweeps);
  EXPECT_EQ(finding.status, Status::inconclusive) << *finding.value;
}

// What it holds lies between two footprints: a few lines beyond the one that fits, longer ones would look as dense.
TEST(LineSize, IsHeldAgainstCapacitiesBetweenTwoFootprints) {
  for (const std::uint64_t step : {148, 196}) {
    const Estimate finding = find_line_size(laps_of_lru(64, {32, 64, 128}, step, 0.75, 1.5, 64));
    EXPECT_TRUE(is_right_or_open(finding, 64)) << *finding.value << ", " << step;
  }
}

// A walk that touches every line can't fit where one that touches a part of them overflows.
TEST(LineSize, IsOpenWhereALongerStrideOverflowsFirst) {
  for (const std::vector<std::uint64_t>& strides : {std::vector<std::uint64_t>{48, 64}, {48, 64, 80, 96, 112}}) {
    const Estimate finding = find_line_size(laps_of_lru(32, strides, 300, 0.8, 3));
    EXPECT_TRUE(is_right_or_open(finding, 32)) << *finding.value;
  }
}

// Of rows that end before their lap does that can't be told: the first loads of a longer stride are of other lines.
TEST(LineSize, IsToldWhereRowsEndBeforeTheirLap) {
  std::vector<StrideSweep> sweeps = laps_of_lru(128, {16, 32, 48, 64, 96, 128, 160, 192, 256}, 256);
  for (StrideSweep& sweep : sweeps)
    for (Row& row : sweep.trace.rows) row.values.resize(std::min<std::size_t>(row.values.size(), 256));
  for (Row& row : sweeps.front().trace.rows)
    if (row.control < 9500) row.values.assign(64, 40);
  const Estimate finding = find_line_size(sweeps);
  EXPECT_EQ(finding.value, 128) << finding.note;
}

// LRU misses on the same lines at each stride that touches all of them: where other loads miss, the line is shorter.
TEST(LineSize, IsHeldAgainstExactlyTheSameMisses) {
  std::vector<StrideSweep> sweeps = laps_of_lru(32, {8, 16, 24, 32, 40, 48, 56, 64}, 1, 0.25, 0.25);
  for (const double times : {0.5, 1.0, 2.0, 4.0}) {
    const auto rows = laps_of_lru(32, {8, 16, 24, 32, 40, 48, 56, 64}, 1, times, times);
    for (std::size_t i = 0; i < rows.size(); ++i) sweeps[i].trace.rows.push_back(rows[i].trace.rows.front());
  }
  const Estimate finding = find_line_size(sweeps);
  EXPECT_TRUE(is_right_or_open(finding, 32)) << *finding.value;
}

// Where footprints double, all strides below two lines overflow at the same: however many of them do, none says that it
// touches every line.
TEST(LineSize, IsNotToldByHowManyStridesOverflowAnyhow) {
  for (const std::uint64_t line : {64, 128}) {
    std::vector<std::uint64_t> strides;
    for (std::uint64_t stride = 8; stride <= 2 * line; stride += 8) strides.push_back(stride);
    std::vector<StrideSweep> sweeps = laps_of_lru(line, strides, 1, 0.25, 0.25, line, 8);
    for (const double times : {0.5, 1.0, 2.0, 4.0}) {
      const auto rows = laps_of_lru(line, strides, 1, times, times, line, 8);
      for (std::size_t i = 0; i < rows.size(); ++i) sweeps[i].trace.rows.push_back(rows[i].trace.rows.front());
    }
    for (StrideSweep& sweep : sweeps)
      for (Row& row : sweep.trace.rows) row.values.resize(std::min<std::size_t>(row.values.size(), 256));
    const Estimate finding = find_line_size(sweeps);
    EXPECT_TRUE(is_right_or_open(finding, static_cast<double>(line))) << *finding.value;
  }
}

// Longer strides overflow where shorter ones do, but not on as many loads line by line.
TEST(LineSize, IsToldFromTwiceAndFourTimesByPowersOfTwo) {
  for (const std::uint64_t line : {32, 64, 128}) {
    const Estimate finding = find_line_size(laps_at_powers_of_two(line, line / 2));
    EXPECT_EQ(finding.status, Status::measured) << line << ": " << finding.note;
    EXPECT_EQ(finding.value, static_cast<double>(line));
  }
}

// Footprints so far apart that all sets overflow at once have nothing that would tell.
TEST(LineSize, StaysOpenWherePowersOfTwoAreAllThereIs) {
  for (const std::uint64_t line : {32, 64}) {
    const Estimate finding = find_line_size(laps_at_powers_of_two(line, 16 * line));
    const bool is_false = finding.status == Status::measured && finding.value != static_cast<double>(line);
    EXPECT_FALSE(is_false) << *finding.value << " for " << line;
  }
}

// Nor do strides that all skip lines: a line as long as the longest that uses all sets that are left misses as they do.
// How seldom caches have so many sets is no evidence.
TEST(LineSize, StaysOpenWhereAllStridesGoToAPartOfTheSets) {
  for (const std::uint64_t line : {32, 64, 128}) {
    const std::vector<std::uint64_t> strides{2 * line, 4 * line, 8 * line, 16 * line};
    const Estimate finding = find_line_size(laps_of_lru(line, strides, 32 * line / 5, 0.8, 3, line, 8));
    EXPECT_TRUE(is_right_or_open(finding, static_cast<double>(line))) << line << ": " << *finding.value;
  }
}

// Bits of an address say which line it is of: another length takes more evidence.
TEST(LineSize, IsAPowerOfTwoUnlessStridesSayOtherwise) {
  const Estimate odd = find_line_size(sweeps(96, 16, 256));
  EXPECT_TRUE(odd.status == Status::inconclusive || odd.value == 96) << *odd.value;
  auto without = sweeps(128, 16, 256);
  std::erase_if(without, [](const StrideSweep& sweep) { return sweep.stride_bytes == 128; });
  EXPECT_EQ(find_line_size(without).value, 128);
}

TEST(FetchGranularity, IsAPowerOfTwoBetweenStrides) {
  Trace without = cold_walks(32, 128);
  std::erase_if(without.rows, [](const Row& row) { return row.control == 32; });
  const Estimate finding = find_fetch_granularity(without);
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, 32);
  const Estimate beyond = find_fetch_granularity(cold_walks(64, 60));
  EXPECT_EQ(beyond.status, Status::lower_bound);
}

TEST(LineSize, BoundsAndRefusals) {
  EXPECT_EQ(find_line_size(sweeps(512, 16, 128)).status, Status::lower_bound);
  EXPECT_EQ(find_line_size(sweeps(128, 16, 256, 2048, 12288)).status, Status::inconclusive) << "never overflows";
  EXPECT_EQ(find_line_size(sweeps(128, 16, 256, 20480, 40960)).status, Status::inconclusive) << "always does";
  EXPECT_EQ(find_line_size({}).status, Status::inconclusive);
  const auto one = sweeps(128, 16, 16);
  EXPECT_EQ(find_line_size(one).status, Status::inconclusive);
}

TEST(FetchGranularity, OfTooFewLoadsIsInconclusive) {
  // Half of the loads hit where all would, were it twice as long: of two loads that happens by chance.
  EXPECT_EQ(find_fetch_granularity({{{1024, {30, 30}}, {2048, {300, 300}}}}).status, Status::inconclusive);
  const std::vector<double> hits(20, 30), misses(20, 300);
  std::vector<double> half = hits;
  half.insert(half.end(), misses.begin(), misses.end());
  const Estimate finding = find_fetch_granularity({{{1024, half}, {2048, misses}}});
  EXPECT_EQ(finding.status, Status::upper_bound) << "1024 bytes and the next ones leave as many";
  EXPECT_EQ(finding.value, 2048);
  std::vector<double> most(20 * 16, 30);
  most.insert(most.end(), 60 * 16, 300);
  EXPECT_EQ(find_fetch_granularity({{{1024, half}, {1536, most}, {2048, misses}}}).status, Status::measured);
}

}  // namespace
}  // namespace gputopo::evidence
