// How many sets a TLB has, from circles that grow.
#include "evidence/translation/tlb_sets.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/organisation/index_function.hpp"

namespace gputopo::evidence {
namespace {

using testing::ElementsAre;

// Circles over LRU sets that consecutive lines take turns in, until none of a circle is kept.
FirstLosses grown(std::uint64_t sets, std::uint64_t ways, std::uint64_t from) {
  FirstLosses losses;
  for (std::uint64_t lines = from;; ++lines) {
    std::vector<std::uint64_t> lost;
    for (std::uint64_t line = 0; line < lines; ++line)
      if ((lines - line % sets + sets - 1) / sets > ways) lost.push_back(line);
    losses.add(lost, lines);
    if (lost.size() < lines) continue;
    losses.add(lost, lines);  // the last ones count that are lost in the next circle, too
    return losses;
  }
}

TEST(TlbSets, AreCountedByWhatEachStepLoses) {
  for (const auto& [sets, ways] : {std::pair{16U, 8U}, {4U, 3U}, {2U, 8U}, {1U, 16U}}) {
    const auto held = sets_of(grown(sets, ways, sets * ways - 1), 0);
    ASSERT_TRUE(held) << sets << " of " << ways;
    EXPECT_EQ(held->sets, sets);
    EXPECT_EQ(held->ways, ways);
    EXPECT_EQ(held->entries, sets * ways);
  }
}

TEST(TlbSets, HaveTheLinesThatWentTogether) {
  const FirstLosses losses = grown(16, 8, 16 * 8 - 1);
  const auto told = collisions_of(losses, sets_of(losses, 0).value());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->fits, 136U);
  EXPECT_TRUE(told->complete);
  ASSERT_EQ(told->sets.size(), 16U);
  EXPECT_THAT(told->sets.front(), ElementsAre(8, 24, 40, 56, 72, 88, 104, 120, 136));
  EXPECT_THAT(told->sets[3], ElementsAre(3, 19, 35, 51, 67, 83, 99, 115, 131));
  const IndexFunction index = index_function(*told, 16, 8, 1 << 24);
  EXPECT_EQ(index.kind, IndexFunction::Kind::modulo);
  EXPECT_EQ(index.detail, "address bits 24 to 27");
}

// As an H200's second TLB: 256 sets of 8, by bits 25 to 32 of the address, each XORed with the eighth bit above it.
TEST(TlbSets, LieWhereTheAddressSaysOfABufferThatBeginsAnywhere) {
  constexpr std::uint64_t entry = 32 << 20, first = 0x7f4ee6000000 / entry, sets = 256, ways = 8;
  FirstLosses losses;
  for (std::uint64_t lines = sets * ways - 64;; ++lines) {
    std::vector<std::vector<std::uint64_t>> by_set(sets);
    for (std::uint64_t line = 0; line < lines; ++line)
      by_set[((line + first) ^ (line + first) >> 8) % sets].push_back(line);
    std::vector<std::uint64_t> lost;
    for (const auto& set : by_set)
      if (set.size() > ways) lost.insert(lost.end(), set.begin(), set.end());
    std::sort(lost.begin(), lost.end());
    losses.add(lost, lines);
    if (lost.size() < lines) continue;
    losses.add(lost, lines);
    break;
  }
  auto told = collisions_of(losses, sets_of(losses, 0).value());
  ASSERT_TRUE(told);
  EXPECT_EQ(index_function(*told, sets, ways, entry).kind, IndexFunction::Kind::hash);
  told->address = first * entry;
  const IndexFunction index = index_function(*told, sets, ways, entry);
  EXPECT_EQ(index.kind, IndexFunction::Kind::exclusive_or);
  EXPECT_EQ(
      index.detail,
      "address bits 25^33, 26^34, 27^35, 28^36, 29^37, 30, 31, 32; not each of those above 37 was seen to change");
}

TEST(TlbSets, HaveTheLinesThatALevelInFrontAnswersWhereThereIsOne) {
  FirstLosses losses;
  for (const std::uint64_t lines : {15, 16, 17, 18}) {
    std::vector<std::uint64_t> lost;
    for (std::uint64_t line = 2; line < lines && lines > 16; ++line) lost.push_back(line);
    losses.add(lost, lines);
  }
  const auto held = sets_of(losses, 2);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->sets, 1U);
  const auto told = collisions_of(losses, *held);
  ASSERT_TRUE(told);
  ASSERT_EQ(told->sets.size(), 1U);
  EXPECT_EQ(told->sets.front().size(), 17U);
}

TEST(TlbSets, ArentTakenFromStepsThatLostMoreThanOne) {
  FirstLosses losses;
  losses.add({}, 8);
  losses.add({0, 1, 2, 3, 4, 5}, 9);
  losses.add({0, 1, 2, 3, 4, 5}, 10);
  EXPECT_FALSE(collisions_of(losses, {8, 4, 2, 0}));
}

TEST(TlbSets, ArentKnownWhereTheFirstCircleLostSome) {
  EXPECT_FALSE(sets_of(grown(4, 3, 14), 0));
}

}  // namespace
}  // namespace gputopo::evidence
