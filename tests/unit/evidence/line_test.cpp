#include "evidence/lines/line.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr Tally half_part{80, 40};

// Pairs 32 to 2048 B apart, 80 of each, of which `parted` part from the line's length on.
std::vector<PairFates> fates_of(std::uint64_t line_bytes, double parted, double by_mistake = 0) {
  std::vector<PairFates> fates;
  for (std::uint64_t distance = 32; distance <= 2048; distance *= 2)
    fates.push_back({distance, {80, distance < line_bytes ? by_mistake : parted}});
  return fates;
}

TEST(Line, IsTheLeastDistanceThatPartsPairs) {
  for (std::uint64_t line_bytes = 32; line_bytes <= 512; line_bytes *= 2) {
    const Estimate line = line_of(fates_of(line_bytes, 36), half_part, 0.001);
    ASSERT_EQ(line.status, Status::measured) << line_bytes;
    EXPECT_EQ(*line.value, static_cast<double>(line_bytes));
    EXPECT_EQ(line.method, line_method);
    EXPECT_EQ(line.samples, 8U * 80);
  }
}

// Two lines of one set part more often than two of different ones, or less.
TEST(Line, DoesntAskThatAsManyPartAsFurtherApart) {
  EXPECT_EQ(*line_of(fates_of(128, 22), {80, 78}, 0.001).value, 128);
  EXPECT_EQ(*line_of(fates_of(128, 78), {80, 30}, 0.001).value, 128);
}

// One load in twenty is a stranger's: it makes one of a pair look lost.
TEST(Line, SurvivesStrangers) {
  EXPECT_EQ(*line_of(fates_of(128, 38, 8), half_part, 0.05).value, 128);
  EXPECT_EQ(*line_of(fates_of(32, 38, 8), half_part, 0.05).value, 32);
}

TEST(Line, IsOpenWhereMistakesPartAsMany) {
  EXPECT_EQ(line_of(fates_of(128, 36, 30), half_part, 0.2).status, Status::inconclusive);
}

// Lines next to one another may be pushed out together, and no distance tells then.
TEST(Line, IsOpenWhereNothingParts) {
  EXPECT_EQ(line_of(fates_of(8192, 0), {80, 0}, 0.001).status, Status::inconclusive);
  EXPECT_EQ(line_of(fates_of(8192, 0), half_part, 0.001).status, Status::inconclusive);
}

TEST(Line, IsOpenWhereDistanceIsntWhatParts) {
  auto fates = fates_of(8192, 0);
  for (std::size_t i = 0; i < fates.size(); i += 2) fates[i].parted.misses = 40;
  EXPECT_EQ(line_of(fates, half_part, 0.001).status, Status::inconclusive);
}

// In small caches of one way the share rises with the distance, up to where what pushes ends.
TEST(Line, IsOpenWhereTheShareRisesUpToTheFurthest) {
  std::vector<PairFates> fates = fates_of(8192, 0);
  fates[5].parted.misses = 24;
  fates[6].parted.misses = 34;
  EXPECT_EQ(line_of(fates, half_part, 0.001).status, Status::inconclusive);
}

TEST(Line, IsOpenWhereNoPairCounts) {
  std::vector<PairFates> fates = fates_of(128, 36);
  for (PairFates& f : fates) f.parted = {};
  const Estimate line = line_of(fates, {}, 0.001);
  EXPECT_EQ(line.status, Status::inconclusive);
  EXPECT_EQ(line.note, "nothing that is looked at stays until the next look");
}

TEST(Line, IsOpenWithoutDistancesBeyondIt) {
  EXPECT_EQ(line_of({}, half_part, 0.001).status, Status::inconclusive);
  const auto fates = fates_of(32, 36);
  EXPECT_EQ(line_of(std::span(fates).first(2), half_part, 0.001).status, Status::inconclusive);
  EXPECT_EQ(*line_of(std::span(fates).first(3), half_part, 0.001).value, 32);
}

TEST(Line, IsOpenWhereThePairsThatWouldTellAreFew) {
  std::vector<PairFates> fates = fates_of(128, 36);
  fates[2].parted = {1, 0};
  EXPECT_EQ(line_of(fates, half_part, 0.001).status, Status::inconclusive);
}

}  // namespace
}  // namespace gputopo::evidence
