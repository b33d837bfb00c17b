// What organisations are inferred with, apart from any device: known policies, and the index that collisions give away.
#include <gtest/gtest.h>

#include "evidence/organisation/index_function.hpp"
#include "evidence/organisation/set_policies.hpp"

namespace gputopo::evidence {
namespace {

std::vector<bool> losses(Policy policy, std::uint32_t ways, const std::vector<std::uint64_t>& lines) {
  PolicySet set(policy, ways);
  std::vector<bool> lost;
  for (const std::uint64_t line : lines) lost.push_back(set.load(line));
  return lost;
}

TEST(PolicySet, AUseCountsUnderLruAndNotUnderFirstInFirstOut) {
  const std::vector<std::uint64_t> lines{1, 2, 1, 3, 1};
  EXPECT_EQ(losses(Policy::lru, 2, lines), (std::vector<bool>{true, true, false, true, false}));
  EXPECT_EQ(losses(Policy::fifo, 2, lines), (std::vector<bool>{true, true, false, true, true}));
}

TEST(PolicySet, ATreeGivesUpTheHalfUsedLessRecently) {
  // After 1 2 3 4 and 1 the other half is older, and in it 3.
  EXPECT_EQ(losses(Policy::tree, 4, {1, 2, 3, 4, 1, 5, 4, 3}),
            (std::vector<bool>{true, true, true, true, false, true, false, true}));
}

// Circles over a cache of `sets` sets of `ways`, where line l lies in set_of(l): each longer by a line than the last.
template <class SetOf>
Collisions seen_of(std::uint64_t sets, std::uint64_t ways, const SetOf& set_of) {
  Collisions seen;
  seen.fits = sets * ways;
  seen.always = true;
  const auto lost_of = [&](const Circle& circle) {
    std::vector<std::uint64_t> count(sets, 0), lost;
    for (std::uint64_t line = circle.first; line < circle.first + circle.lines; ++line) ++count[set_of(line)];
    for (std::uint64_t line = circle.first; line < circle.first + circle.lines; ++line)
      if (count[set_of(line)] > ways) lost.push_back(line);
    return lost;
  };
  for (std::uint64_t more = 0; more <= sets; ++more) {
    const Circle circle{0, seen.fits + more};
    seen.windows.push_back({circle, lost_of(circle)});
    if (more == 0) continue;
    std::vector<std::uint64_t> set;
    for (std::uint64_t line = 0; line < seen.fits + more; ++line)
      if (set_of(line) == set_of(seen.fits + more - 1)) set.push_back(line);
    seen.sets.push_back(set);
  }
  return seen;
}

TEST(IndexFunction, NamesTheAddressBits) {
  const auto found = index_function(seen_of(8, 16, [](std::uint64_t l) { return l % 8; }), 8, 16, 64);
  EXPECT_EQ(found.kind, IndexFunction::Kind::modulo);
  EXPECT_EQ(found.detail, "address bits 6 to 8");
}

TEST(IndexFunction, NamesTheBitsThatAreXored) {
  const auto found =
      index_function(seen_of(4, 32, [](std::uint64_t l) { return (l ^ l >> 2 ^ l >> 4) % 4; }), 4, 32, 64);
  EXPECT_EQ(found.kind, IndexFunction::Kind::exclusive_or);
  EXPECT_EQ(found.detail, "address bits 6^8^10, 7^9^11; not each of those above 13 was seen to change");
}

// Two neighbours each to two sets by an XOR: but for the first, four in a row share a set, as no four of a modulo begin.
TEST(IndexFunction, FindsRunsThatAnXorOfShorterOnesMakes) {
  const auto by_twos = [](std::uint64_t line) { return (line / 2 ^ line / 4) % 2; };
  const auto found = index_function(seen_of(2, 32, by_twos), 2, 32, 256);
  EXPECT_EQ(found.kind, IndexFunction::Kind::exclusive_or);
  EXPECT_EQ(found.consecutive_lines, 2U);
}

TEST(IndexFunction, CallsAHashWhatNeitherBitsNorXorsExplain) {
  const auto turned = [](std::uint64_t l) { return (l + (l / 8) * (l / 8) * 5 / 3) % 8; };
  EXPECT_EQ(index_function(seen_of(8, 16, turned), 8, 16, 64).kind, IndexFunction::Kind::hash);
}

TEST(IndexFunction, NeighboursOfAHashAreToldWhereManyShareASet) {
  const auto by_fours = [](std::uint64_t line) { return (line / 4 + (line / 32) * (line / 32) * 5 / 3) % 8; };
  const auto found = index_function(seen_of(8, 32, by_fours), 8, 32, 64);
  EXPECT_EQ(found.kind, IndexFunction::Kind::hash);
  EXPECT_EQ(found.consecutive_lines, 4U);
}

// Of a hash hardly any circle would come out right.
TEST(IndexFunction, AFewCirclesSeenWronglyAreNoHash) {
  Collisions seen = seen_of(12, 16, [](std::uint64_t l) { return l % 12; });
  seen.windows[3].lost.pop_back();
  seen.windows[7].lost.pop_back();
  EXPECT_EQ(index_function(seen, 12, 16, 64).kind, IndexFunction::Kind::unknown);
}

TEST(IndexFunction, LeavesOpenWhatTooFewLinesTell) {
  const auto found = index_function(seen_of(2, 2, [](std::uint64_t l) { return l % 2; }), 2, 2, 64);
  EXPECT_EQ(found.kind, IndexFunction::Kind::unknown);
}

}  // namespace
}  // namespace gputopo::evidence
