// What rounds over a cache's lines say: which are lost, and whether strangers explain it.
#include "evidence/organisation/evictions.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// Rounds of so many lines, of which `missed(round, line)` are missed.
template <class IsMissed>
Evicted rounds_of(std::size_t rounds, std::size_t lines, double false_miss, const IsMissed& missed) {
  Missed all(rounds, std::vector<bool>(lines, false));
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t line = 0; line < lines; ++line) all[round][line] = missed(round, line);
  return Evicted::of(all, 0, lines, false_miss);
}

TEST(Evicted, CountsTheLinesAskedFor) {
  const Missed missed{{true, false, true}, {true, false, false}};
  const Evicted last = Evicted::of(missed, 1, 2, 0.001);
  EXPECT_EQ(last.misses, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(last.least, 0U);
  EXPECT_DOUBLE_EQ(last.in_a_round(), 0.5);
}

TEST(Evicted, WhatIsMissedInEveryRoundIsAlwaysLost) {
  const Evicted set = rounds_of(3, 100, 0.001, [](std::size_t, std::size_t line) { return line < 17; });
  EXPECT_NEAR(set.always_lost(), 17, 0.1);
  EXPECT_EQ(set.lost(0).size(), 17U);
}

// The kernel's own lines come to other sets in each program, and a full one loses all of its lines for a round then.
TEST(Evicted, WhatIsMissedInOneRoundOrTheOtherIsNotAlwaysLost) {
  const Evicted sets = rounds_of(3, 100, 0.001, [](std::size_t round, std::size_t line) { return line / 16 == round; });
  EXPECT_EQ(sets.always_lost(), 0);
  EXPECT_NEAR(sets.lost_in_a_round(), 16, 0.2);
}

TEST(Evicted, StrangersMakeNoLosses) {
  const Evicted strangers =
      rounds_of(256, 40, 0.05, [](std::size_t round, std::size_t line) { return (7 * round + 13 * line) % 20 == 0; });
  EXPECT_EQ(strangers.lost_in_a_round(), 0);
  EXPECT_EQ(strangers.always_lost(), 0);
  EXPECT_TRUE(strangers.lost(1).empty());
}

// A line more than a set has ways costs a miss in each round: without that, misses are something else's.
TEST(Evicted, ARoundWithoutMissesIsOfASetThatFits) {
  const Evicted settling = rounds_of(64, 17, 0.001, [](std::size_t round, std::size_t) { return round < 8; });
  EXPECT_GT(settling.in_a_round(), 2);
  EXPECT_EQ(settling.lost_in_a_round(), 0);
}

TEST(Evicted, OneOfEachRoundAtRandomIsLost) {
  const Evicted drawn =
      rounds_of(256, 17, 0.001, [](std::size_t round, std::size_t line) { return round * round % 17 == line; });
  EXPECT_NEAR(drawn.lost_in_a_round(), 1, 0.05);
  EXPECT_EQ(drawn.always_lost(), 0);
}

}  // namespace
}  // namespace gputopo::evidence
