#include "evidence/period.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr Contamination no_strangers{0.001, 0.001, 5000};

template <std::size_t n>
std::array<bool, n> every(std::size_t period) {
  std::array<bool, n> missed{};
  for (std::size_t i = 0; i < n; i += period) missed.at(i) = true;
  return missed;
}

TEST(Period, IsTheSpacingOfColdMisses) {
  const Estimate e = period_of(every<512>(8), 4, no_strangers, "cold_misses");
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_EQ(*e.value, 32);
  EXPECT_GT(*e.confidence, 0.99);
}

TEST(Period, OfOneWordWhereAllMiss) {
  EXPECT_EQ(*period_of(every<512>(1), 4, no_strangers, "").value, 4);
}

TEST(Period, SurvivesStrangers) {
  auto missed = every<2048>(16);
  for (std::size_t i = 7; i < missed.size(); i += 23) missed.at(i) = true;
  const Estimate e = period_of(missed, 4, {0.05, 0.01, 5000}, "");
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(*e.value, 64);
}

TEST(Period, OfMissesWithoutPatternIsOpen) {
  std::array<bool, 512> missed{};
  std::uint64_t state = 7;
  for (bool& m : missed) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    m = (state >> 62U) == 0;
  }
  EXPECT_EQ(period_of(missed, 4, no_strangers, "").status, Status::inconclusive);
}

// Patterns of eight places a stride: straight ones overflow up to the line, shifted ones as well.
std::vector<PatternWalk> walks(std::uint64_t line, double overflowing = 180) {
  using Kind = PatternWalk::Kind;
  std::vector<PatternWalk> all{{32, 0, Kind::fits, {200, 0}}, {32, 0, Kind::straight, {200, overflowing}}};
  for (std::uint64_t stride = 64; stride <= 1024; stride *= 2)
    for (std::uint64_t gap = 0; gap < 8; ++gap) {
      const double misses = stride <= line ? overflowing : 0;
      all.push_back({stride, gap, Kind::straight, {200, misses}});
      all.push_back({stride, gap, Kind::shifted, {200, misses}});
    }
  return all;
}

TEST(Line, IsTheLastStrideWhosePatternOverflows) {
  EXPECT_EQ(*line_of(walks(128), 32, "").value, 128);
  EXPECT_EQ(*line_of(walks(32), 32, "").value, 32);
}

TEST(Line, UnluckyPlacesDontMakeItLonger) {
  auto all = walks(128);
  for (PatternWalk& walk : all)
    if (walk.stride_bytes > 128 && walk.gap_strides % 3 == 1) walk.seen.misses = 180;
  EXPECT_EQ(*line_of(all, 32, "").value, 128);
}

// What covers whole lines overflows wherever it lies: strides that fit in some place are longer than a line, though
// in others sets in conflict overflow, with and without the shift.
TEST(Line, IsShorterThanAStrideThatFitsSomewhereWithoutAShift) {
  using Kind = PatternWalk::Kind;
  auto all = walks(128);
  for (PatternWalk& walk : all)
    if (walk.stride_bytes == 256 && walk.kind != Kind::fits) walk.seen.misses = walk.gap_strides < 4 ? 180 : 0;
  EXPECT_EQ(*line_of(all, 32, "").value, 128);
}

// One load in 23 is a stranger's: an overflow is what misses beyond that.
TEST(Line, SurvivesStrangers) {
  auto all = walks(128, 90);
  for (PatternWalk& walk : all) walk.seen.misses += (200 - walk.seen.misses) / 23;
  EXPECT_EQ(*line_of(all, 32, "").value, 128);
}

// Shares that neither control has are rather what conflicts leave than what the same lines do.
TEST(Line, IsNotAStrideWhoseShiftedPatternsMissLessThanTheOthers) {
  using Kind = PatternWalk::Kind;
  auto all = walks(128);
  for (PatternWalk& walk : all)
    if (walk.stride_bytes == 256) walk.seen.misses = walk.kind == Kind::shifted ? 130 : 180;
  const Estimate line = line_of(all, 32, "");
  EXPECT_TRUE(!line.has_value() || *line.value == 128) << *line.value;
}

// A cache of one way, whose index leaves some of a stride's lines in the same sets with and without a shift, and with
// it more of them in two places.
std::vector<PatternWalk> walks_that_collide(double shifted_misses) {
  using Kind = PatternWalk::Kind;
  auto all = walks(128, 90);
  for (PatternWalk& walk : all) {
    if (walk.stride_bytes != 256 || walk.kind == Kind::fits) continue;
    walk.seen.misses = 60;
    if (walk.kind == Kind::shifted && walk.gap_strides > 5) walk.seen.misses = shifted_misses;
  }
  return all;
}

// Two walks of the same lines may differ, by what a cache that goes by age had before, but none of them loses more than
// all others do.
TEST(Line, IsNotAStrideWhoseShiftedPatternsMissMoreThanAnyOther) {
  EXPECT_EQ(*line_of(walks_that_collide(88), 32, "").value, 256);
  const Estimate line = line_of(walks_that_collide(150), 32, "");
  EXPECT_TRUE(!line.has_value() || *line.value == 128) << *line.value;
}

// Several loads of each line at once may leave another share of them in a cache than one load of each, as in an H200's
// L1.
TEST(Line, MayMissAnotherShareThanShorterStrides) {
  using Kind = PatternWalk::Kind;
  auto all = walks(128, 110);
  for (PatternWalk& walk : all) {
    if (walk.kind == Kind::fits) continue;
    if (walk.stride_bytes == 64) walk.seen.misses = 138;
    if (walk.stride_bytes == 128) walk.seen.misses = 95;
  }
  EXPECT_EQ(*line_of(all, 32, "").value, 128);
}

TEST(Line, IsOpenWhereEveryPatternOverflows) {
  EXPECT_EQ(line_of(walks(1 << 20), 32, "").status, Status::inconclusive);
}

TEST(Line, IsOpenWhereTheControlsDontDiffer) {
  EXPECT_EQ(line_of(walks(128, 0), 32, "").status, Status::inconclusive);
}

}  // namespace
}  // namespace gputopo::evidence
