// Capacity from rows of lines: what caches of known sets and ways would show, and what others would.
#include "evidence/lines/spaced_lines.hpp"

#include <functional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t sets_there = 64, ways_there = 4;

// A cache of 256 lines whose sets lose all their lines once they are overfull; `taken` ones hold a line of others.
SpacedRows rows_of(std::uint64_t apart, std::uint64_t from, std::uint64_t to, const std::set<std::uint64_t>& taken,
                   const std::function<std::uint64_t(std::uint64_t)>& set_of) {
  SpacedRows rows{apart, {}};
  for (std::uint64_t first = 0; first < std::min<std::uint64_t>(apart, 12); ++first) {
    SpacedRow row{apart, first, {}};
    for (std::uint64_t lines = from; lines <= to; ++lines) {
      std::vector<std::uint64_t> in_set(sets_there, 0);
      for (std::uint64_t i = 0; i < lines; ++i) ++in_set[set_of(first + i * apart)];
      double missed = 0;
      for (std::uint64_t s = 0; s < sets_there; ++s)
        if (in_set[s] > ways_there - taken.count(s)) missed += static_cast<double>(in_set[s]);
      row.looks.push_back({lines, static_cast<double>(lines), missed});
    }
    rows.rows.push_back(std::move(row));
  }
  return rows;
}

std::uint64_t modulo(std::uint64_t line) {
  return line % sets_there;
}

std::uint64_t folded(std::uint64_t line) {
  return (line ^ line / sets_there) % sets_there;
}

TEST(SpacedLines, SayCapacityAndWaysWhereNothingElseIs) {
  for (const std::uint64_t apart : {4U, 8U, 16U, 32U}) {
    const auto found =
        capacity_of_rows(rows_of(apart, 2, 512 / apart, {}, modulo), rows_of(apart / 2, 2, 1024 / apart, {}, modulo));
    ASSERT_TRUE(found) << apart;
    EXPECT_EQ(found->blocks, sets_there * ways_there);
    EXPECT_EQ(found->ways, ways_there);
  }
}

// Five sets hold a line of the walk's own code: all of 16 lines apart in other sets say the same as without.
TEST(SpacedLines, LookPastTheWalksOwnCode) {
  const std::set<std::uint64_t> taken{0, 1, 2, 3, 4};
  const auto found = capacity_of_rows(rows_of(16, 10, 32, taken, modulo), rows_of(8, 20, 64, taken, modulo));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->blocks, sets_there * ways_there);
  EXPECT_EQ(found->period, sets_there);
  // Where all sets hold one they look like smaller ones.
  std::set<std::uint64_t> all;
  for (std::uint64_t s = 0; s < sets_there; ++s) all.insert(s);
  const auto less = capacity_of_rows(rows_of(16, 10, 32, all, modulo), rows_of(8, 20, 64, all, modulo));
  ASSERT_TRUE(less);
  EXPECT_EQ(less->blocks, sets_there * (ways_there - 1));
}

TEST(SpacedLines, SayNothingOfAnIndexThatSpreadsThem) {
  for (const std::uint64_t apart : {2U, 4U, 8U, 16U, 32U})
    EXPECT_FALSE(
        capacity_of_rows(rows_of(apart, 2, 1024 / apart, {}, folded), rows_of(apart / 2, 2, 2048 / apart, {}, folded)))
        << apart;
}

// Of lines drawn at random an overfull set keeps some.
TEST(SpacedLines, SayNothingOfSetsThatKeepSome) {
  SpacedRows rows = rows_of(16, 10, 32, {}, modulo), half = rows_of(8, 20, 64, {}, modulo);
  for (SpacedRows* each : {&rows, &half})
    for (SpacedRow& row : each->rows)
      for (RowLook& look : row.looks) look.missed *= 0.7;
  EXPECT_FALSE(capacity_of_rows(rows, half));
}

TEST(SpacedLines, NeedTheEndAndWhatACacheInFrontLeaves) {
  const SpacedRows half = rows_of(8, 20, 64, {}, modulo);
  EXPECT_FALSE(capacity_of_rows(rows_of(16, 10, 18, {}, modulo), half));
  EXPECT_FALSE(capacity_of_rows(rows_of(16, 10, 32, {}, modulo), rows_of(8, 20, 36, {}, modulo)));
  SpacedRows answered = rows_of(16, 10, 32, {}, modulo);
  for (SpacedRow& row : answered.rows)
    for (RowLook& look : row.looks) look.told -= 2;
  EXPECT_FALSE(capacity_of_rows(answered, half));
}

}  // namespace
}  // namespace gputopo::evidence
