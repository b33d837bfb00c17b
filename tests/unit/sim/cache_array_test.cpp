// Replacement and sectors against sequences worked out by hand.
#include "device/sim/cache_array.hpp"

#include <malloc.h>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::sim {
namespace {

Organisation one_set(Replacement replacement) {
  Organisation o;
  o.replacement = replacement;
  return o;
}

class Sequence {
 public:
  Sequence(Replacement replacement, std::uint64_t ways) : array_(one_set(replacement), ways) {}
  /// 'h' or 'm' for each line touched.
  std::string touch(const std::vector<std::uint64_t>& lines) {
    std::string result;
    for (const std::uint64_t line : lines) result += array_.access(line, 0, 1, random_) ? 'h' : 'm';
    return result;
  }
  bool has(std::uint64_t line) { return array_.contains(line, 0, 1); }
  CacheArray& array() { return array_; }
  Random& random() { return random_; }

 private:
  CacheArray array_;
  Random random_{7};
};

#ifndef GPUTOPO_ADDRESS_SANITIZER  // whose allocator isn't the one that is asked
// A model is refused by what its caches would take, so that has to be true.
TEST(CacheArray, TakesNoMoreMemoryThanItSays) {
  constexpr std::uint32_t lines = 1U << 14U;
  for (const Replacement replacement : {Replacement::lru, Replacement::tree_plru, Replacement::random})
    for (const std::uint32_t sets : {1U, 64U, lines / 17 + 1, lines / 16, lines / 4, lines / 3 + 1, lines})
      for (const IndexKind index : {IndexKind::modulo, IndexKind::hash}) {
        Organisation o;
        o.replacement = replacement;
        o.sets = sets;
        o.index = index;
        const auto in_use = [] {
          const auto now = ::mallinfo2();
          return now.uordblks + now.hblkhd;
        };
        const std::size_t before = in_use();
        CacheArray array(o, lines);
        Random random(1);
        for (std::uint64_t line = 0; line < 2 * lines; ++line) array.access(line, 0, 1, random);
        const std::size_t taken = in_use() - before;
        EXPECT_LE(taken, CacheArray::most_bytes(o, lines) + 4096) << sets << " sets";
        EXPECT_GT(taken, CacheArray::most_bytes(o, lines) / 5) << sets << " sets";
      }
}
#endif

TEST(CacheArray, LruEvictsWhatWasUsedLongestAgo) {
  Sequence s(Replacement::lru, 4);
  EXPECT_EQ(s.touch({1, 2, 3, 4, 1, 2, 5}), "mmmmhhm");
  EXPECT_FALSE(s.has(3));
  EXPECT_EQ(s.touch({4, 1, 2, 5, 3, 4}), "hhhhmm") << "3 took the place of 4";
}

TEST(CacheArray, LruOnACycleOfOneLineMoreMissesAlways) {
  Sequence s(Replacement::lru, 4);
  s.touch({0, 1, 2, 3, 4});
  EXPECT_EQ(s.touch({0, 1, 2, 3, 4, 0, 1}), "mmmmmmm");
}

TEST(CacheArray, FifoForgetsUse) {
  Sequence s(Replacement::fifo, 3);
  EXPECT_EQ(s.touch({1, 2, 3, 1, 4}), "mmmhm");
  EXPECT_FALSE(s.has(1)) << "first in, first out, although just used";
  EXPECT_EQ(s.touch({5, 3, 4}), "mhh");
  EXPECT_FALSE(s.has(2));
}

TEST(CacheArray, TreePseudoLruFollowsItsBits) {
  Sequence s(Replacement::tree_plru, 4);
  // After 0 1 2 3 all bits point to the left: the root away from {2, 3}, the left node away from 1.
  EXPECT_EQ(s.touch({0, 1, 2, 3}), "mmmm");
  // Touching 0 turns the root right and the left node right: the victim is 2, where true LRU would take 1.
  EXPECT_EQ(s.touch({0, 4}), "hm");
  EXPECT_FALSE(s.has(2));
  EXPECT_TRUE(s.has(1));
}

TEST(CacheArray, TreePseudoLruNeverChoosesAWayThatIsNotThere) {
  Sequence s(Replacement::tree_plru, 5);
  for (std::uint64_t line = 0; line < 200; ++line) s.touch({line, line / 2, line / 3});
  int resident = 0;
  for (std::uint64_t line = 0; line < 200; ++line) resident += s.has(line) ? 1 : 0;
  EXPECT_EQ(resident, 5);
}

TEST(CacheArray, RandomReplacementReachesEveryWay) {
  std::set<std::uint64_t> gone;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    CacheArray array(one_set(Replacement::random), 4);
    Random random(seed);
    for (std::uint64_t line = 0; line < 5; ++line) array.access(line, 0, 1, random);
    for (std::uint64_t line = 0; line < 4; ++line)
      if (!array.contains(line, 0, 1)) gone.insert(line);
  }
  EXPECT_THAT(gone, testing::ElementsAre(0, 1, 2, 3));
}

TEST(CacheArray, NotMostRecentSparesTheLastUsedOnly) {
  std::set<std::uint64_t> gone;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    CacheArray array(one_set(Replacement::not_most_recent), 4);
    Random random(seed);
    for (const std::uint64_t line : {0ULL, 1ULL, 2ULL, 3ULL, 1ULL, 9ULL}) array.access(line, 0, 1, random);
    for (std::uint64_t line = 0; line < 4; ++line)
      if (!array.contains(line, 0, 1)) gone.insert(line);
  }
  EXPECT_THAT(gone, testing::ElementsAre(0, 2, 3));
}

TEST(CacheArray, ASectorMissBringsInTheSectorAlone) {
  Sequence s(Replacement::lru, 2);
  EXPECT_FALSE(s.array().access(5, 0, 0b0001, s.random()));
  EXPECT_FALSE(s.array().access(5, 0, 0b0010, s.random()));
  EXPECT_TRUE(s.array().access(5, 0, 0b0001, s.random()));
  EXPECT_FALSE(s.array().contains(5, 0, 0b0100));
}

TEST(CacheArray, AnEvictedLineLosesItsSectors) {
  Sequence s(Replacement::lru, 1);
  s.array().access(5, 0, 0b0011, s.random());
  s.array().access(6, 0, 0b0001, s.random());
  EXPECT_FALSE(s.array().access(5, 0, 0b0010, s.random()));
  EXPECT_FALSE(s.array().contains(5, 0, 0b0001));
}

TEST(CacheArray, ClassesShareCapacityButDontHitEachOther) {
  CacheArray array(one_set(Replacement::lru), 2);
  Random random(1);
  EXPECT_FALSE(array.access(5, 0, 1, random));
  EXPECT_FALSE(array.access(5, 1, 1, random));
  EXPECT_TRUE(array.access(5, 0, 1, random));
  EXPECT_FALSE(array.access(6, 1, 1, random));
  EXPECT_FALSE(array.contains(5, 1, 1)) << "the least recent of both classes goes";
}

TEST(CacheArray, LookingChangesNothing) {
  Sequence s(Replacement::lru, 2);
  s.touch({1, 2});
  EXPECT_TRUE(s.has(1));
  s.touch({3});
  EXPECT_FALSE(s.has(1)) << "looking at 1 made it no younger";
}

TEST(CacheArray, APassingLoadIsTheNextToGo) {
  Sequence s(Replacement::lru, 3);
  s.touch({1, 2, 3});
  s.array().pass(9, 0, 1, s.random());
  EXPECT_FALSE(s.has(1));
  EXPECT_EQ(s.touch({1, 2, 3}), "mhh") << "one miss, no cascade";
  EXPECT_FALSE(s.has(9));
}

TEST(CacheArray, ClearEmptiesEverything) {
  for (const Replacement r : {Replacement::lru, Replacement::fifo, Replacement::random, Replacement::tree_plru,
                              Replacement::not_most_recent}) {
    Sequence s(r, 40);
    for (std::uint64_t line = 0; line < 100; ++line) s.touch({line});
    s.array().clear();
    for (std::uint64_t line = 0; line < 100; ++line) EXPECT_FALSE(s.has(line));
    for (std::uint64_t line = 0; line < 40; ++line) s.touch({line});
    for (std::uint64_t line = 0; line < 40; ++line) EXPECT_TRUE(s.has(line));
  }
}

// A straightforward LRU of lists, to hold the fast one against: few ways (tags compared) and many (hash table).
TEST(CacheArray, LruAgreesWithAListOnRandomTraffic) {
  for (const std::uint64_t ways : {3U, 24U, 25U, 300U}) {
    Organisation o = one_set(Replacement::lru);
    o.sets = 5;
    CacheArray array(o, 5 * ways);
    std::vector<std::vector<std::uint64_t>> reference(5);
    Random random(ways);
    Random traffic(42);
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t line = traffic.below(static_cast<std::uint32_t>(7 * ways));
      auto& set = reference[line % 5];
      const auto at = std::find(set.begin(), set.end(), line);
      const bool expected = at != set.end();
      if (expected)
        set.erase(at);
      else if (set.size() == ways)
        set.pop_back();
      set.insert(set.begin(), line);
      ASSERT_EQ(array.access(line, 0, 1, random), expected) << ways << " ways, access " << i;
    }
  }
}

TEST(CacheArray, CyclicWalksUnderRandomReplacementMissAsTheoryHasIt) {
  // N lines round and round through C ways: a line survives a lap with probability (1 - 1/C)^(m N), m the miss rate;
  // so 1 - m = exp(-m N / C). For N / C = 1.25: m = 0.3714.
  CacheArray array(one_set(Replacement::random), 1000);
  Random random(3);
  std::uint64_t misses = 0;
  for (int lap = 0; lap < 220; ++lap)
    for (std::uint64_t line = 0; line < 1250; ++line)
      if (!array.access(line, 0, 1, random) && lap >= 20) ++misses;
  EXPECT_NEAR(static_cast<double>(misses) / (200 * 1250), 0.3714, 0.01);
}

}  // namespace
}  // namespace gputopo::sim
