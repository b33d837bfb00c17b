#include "evidence/lines/line.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// Of 80 pairs `parted`, either one staying as often.
PairFates either_way(std::uint64_t distance_bytes, double parted) {
  return {distance_bytes, {80, parted}, parted / 2, 0};
}

// The same, all of them where the one that was asked for in between stayed: what goes by use.
PairFates by_use(std::uint64_t distance_bytes, double parted) {
  return {distance_bytes, {80, parted}, parted, 0};
}

const PairFates half_part = either_way(4096, 40);

Contamination mistaken(double share) {
  return {share / 2, share, 1000};
}

const Contamination hardly = mistaken(0.001);

// Pairs 32 to 2048 B apart, 80 of each, of which `parted` part from the line's length on.
std::vector<PairFates> fates_of(std::uint64_t line_bytes, double parted, double by_mistake = 0) {
  std::vector<PairFates> fates;
  for (std::uint64_t distance = 32; distance <= 2048; distance *= 2)
    fates.push_back(either_way(distance, distance < line_bytes ? by_mistake : parted));
  return fates;
}

TEST(Line, IsTheLeastDistanceThatPartsPairs) {
  for (std::uint64_t line_bytes = 32; line_bytes <= 512; line_bytes *= 2) {
    const Estimate line = line_of(fates_of(line_bytes, 36), half_part, hardly);
    ASSERT_EQ(line.status, Status::measured) << line_bytes;
    EXPECT_EQ(*line.value, static_cast<double>(line_bytes));
    EXPECT_EQ(line.method, line_method);
    EXPECT_EQ(line.samples, 8U * 80);
  }
}

// Two lines of one set part more often than two of different ones, or less.
TEST(Line, DoesntAskThatAsManyPartAsFurtherApart) {
  EXPECT_EQ(*line_of(fates_of(128, 22), either_way(4096, 78), hardly).value, 128);
  EXPECT_EQ(*line_of(fates_of(128, 78), either_way(4096, 30), hardly).value, 128);
}

// One load in twenty is a stranger's: it makes one of a pair look lost.
TEST(Line, SurvivesStrangers) {
  EXPECT_EQ(*line_of(fates_of(128, 38, 8), half_part, mistaken(0.05)).value, 128);
  EXPECT_EQ(*line_of(fates_of(32, 38, 8), half_part, mistaken(0.05)).value, 32);
}

TEST(Line, IsOpenWhereMistakesPartAsMany) {
  EXPECT_EQ(line_of(fates_of(128, 36, 30), half_part, mistaken(0.2)).status, Status::inconclusive);
}

// A neighbour makes one load in ten look lost, which parts a quarter of the pairs at most. Half of them are more.
TEST(Line, IsToldWherePairsPartMoreOftenThanByMistake) {
  EXPECT_EQ(*line_of(fates_of(32, 38), half_part, mistaken(0.1)).value, 32);
  EXPECT_EQ(line_of(fates_of(128, 38), half_part, mistaken(0.2)).status, Status::inconclusive) << "either one as often";
  EXPECT_EQ(line_of(fates_of(32, 18), either_way(4096, 18), mistaken(0.1)).status, Status::inconclusive);
}

// A hit that counts as a miss, or the other way round, is either one of a pair as often; what goes by use parts pairs
// in one way only.
TEST(Line, IsToldByWhichOneStaysWhereManyLoadsAreMistaken) {
  for (std::uint64_t line_bytes = 32; line_bytes <= 128; line_bytes *= 2) {
    std::vector<PairFates> fates = fates_of(line_bytes, 0, 8);
    for (PairFates& f : fates)
      if (f.distance_bytes >= line_bytes) f = by_use(f.distance_bytes, 30);
    EXPECT_EQ(*line_of(fates, by_use(4096, 30), mistaken(0.2)).value, static_cast<double>(line_bytes));
  }
  EXPECT_EQ(line_of(fates_of(32, 30), either_way(4096, 30), mistaken(0.2)).status, Status::inconclusive);
}

// Halves of a line that come from different slices of the level behind.
TEST(Line, IsntWhereItsHalvesAreMistakenForOneAnother) {
  std::vector<PairFates> fates;
  for (std::uint64_t distance = 32; distance <= 2048; distance *= 2) fates.push_back(by_use(distance, 30));
  fates[0] = by_use(32, 0);
  fates[1] = either_way(64, 24);
  const Estimate line = line_of(fates, by_use(4096, 30), mistaken(0.2));
  EXPECT_NE(line.value, 64);
}

// Neighbours that lie in one slice are mistaken together: of two lines that part as seldom as mistakes do elsewhere
// nothing says that they are one. Shares of an L2 at distances whose lines are of 64 B.
TEST(Line, IsOpenWhereNeighboursMayBeMistakenTogether) {
  const std::vector<PairFates> seen{{64, {32, 3}, 3, 20},    {128, {38, 26}, 26, 21},  {256, {48, 30}, 29, 17},
                                    {512, {35, 22}, 22, 16}, {1024, {44, 20}, 20, 17}, {2048, {39, 22}, 22, 14}};
  Contamination mistakes;
  mistakes.false_miss = 0.037, mistakes.false_hit = 0.301;
  EXPECT_EQ(line_of(seen, {4160, {47, 28}, 28, 17}, mistakes).status, Status::inconclusive);
}

// What was taken for a hit and brought back in between, without the other.
TEST(Line, IsOpenWhereOnesThatWereLostMayHaveComeBack) {
  std::vector<PairFates> fates;
  for (std::uint64_t distance = 32; distance <= 2048; distance *= 2) fates.push_back({distance, {80, 12}, 12, 60});
  EXPECT_EQ(line_of(fates, {4096, {80, 12}, 12, 60}, mistaken(0.2)).status, Status::inconclusive);
}

// Lines next to one another may be pushed out together, and no distance tells then.
TEST(Line, IsOpenWhereNothingParts) {
  EXPECT_EQ(line_of(fates_of(8192, 0), either_way(4096, 0), hardly).status, Status::inconclusive);
  EXPECT_EQ(line_of(fates_of(8192, 0), half_part, hardly).status, Status::inconclusive);
}

TEST(Line, IsOpenWhereDistanceIsntWhatParts) {
  auto fates = fates_of(8192, 0);
  for (std::size_t i = 0; i < fates.size(); i += 2) fates[i] = either_way(fates[i].distance_bytes, 40);
  EXPECT_EQ(line_of(fates, half_part, hardly).status, Status::inconclusive);
}

// In small caches of one way the share rises with the distance, up to where what pushes ends.
TEST(Line, IsOpenWhereTheShareRisesUpToTheFurthest) {
  std::vector<PairFates> fates = fates_of(8192, 0);
  fates[5] = either_way(1024, 24);
  fates[6] = either_way(2048, 34);
  EXPECT_EQ(line_of(fates, half_part, hardly).status, Status::inconclusive);
}

TEST(Line, IsOpenWhereNoPairCounts) {
  std::vector<PairFates> fates = fates_of(128, 36);
  for (PairFates& f : fates) f = {f.distance_bytes, {}, 0, 0};
  const Estimate line = line_of(fates, {}, hardly);
  EXPECT_EQ(line.status, Status::inconclusive);
  EXPECT_EQ(line.note, "nothing that is looked at stays until the next look");
}

TEST(Line, IsOpenWithoutDistancesBeyondIt) {
  EXPECT_EQ(line_of({}, half_part, hardly).status, Status::inconclusive);
  const auto fates = fates_of(32, 36);
  EXPECT_EQ(line_of(std::span(fates).first(2), half_part, hardly).status, Status::inconclusive);
  EXPECT_EQ(*line_of(std::span(fates).first(3), half_part, hardly).value, 32);
}

TEST(Line, IsOpenWhereThePairsThatWouldTellAreFew) {
  std::vector<PairFates> fates = fates_of(128, 36);
  fates[2] = {128, {1, 0}, 0, 0};
  EXPECT_EQ(line_of(fates, half_part, hardly).status, Status::inconclusive);
}

TEST(PairFates, CountWhatALookBroughtNearerAsLost) {
  PairFates pairs{128, {80, 40}, 18, 0, 10, 20};
  EXPECT_EQ(pairs.last_stayed_by_chance(), 1);
  pairs.last_stayed = 25;
  EXPECT_NEAR(pairs.last_stayed_by_chance(), 0.077, 0.001);
  pairs.last_stayed = 32;
  EXPECT_LT(pairs.last_stayed_by_chance(), 0.001);
  pairs.leave_out_brought_nearer();
  EXPECT_EQ(pairs.parted.misses, 16);
  EXPECT_EQ(pairs.last_stayed, 8);
  EXPECT_EQ(pairs.both_lost, 34);
  EXPECT_EQ(pairs.asked_stayed, 6);
  EXPECT_EQ(pairs.parted.loads, 80);
}

}  // namespace
}  // namespace gputopo::evidence
