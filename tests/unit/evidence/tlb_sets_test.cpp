// How many sets a TLB has, from circles that grow.
#include "evidence/translation/tlb_sets.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

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

TEST(TlbSets, ArentKnownWhereTheFirstCircleLostSome) {
  EXPECT_FALSE(sets_of(grown(4, 3, 14), 0));
}

}  // namespace
}  // namespace gputopo::evidence
