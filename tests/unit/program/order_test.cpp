#include "program/order.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gputopo::program {
namespace {

std::vector<std::uint64_t> walk(Order order, std::uint64_t seed, std::uint64_t n) {
  const Stepping s = stepping(order, seed, n);
  std::vector<std::uint64_t> positions;
  std::uint64_t at = s.first;
  for (std::uint64_t k = 0; k < n; ++k) {
    positions.push_back(at);
    at = advance(at, s.step, n);
  }
  return positions;
}

bool visits_each_once(const std::vector<std::uint64_t>& positions) {
  std::vector<bool> seen(positions.size(), false);
  for (const std::uint64_t p : positions) {
    if (p >= seen.size() || seen[p]) return false;
    seen[p] = true;
  }
  return true;
}

TEST(Order, EveryOrderVisitsEveryPositionOnce) {
  for (const Order order : {Order::forward, Order::reverse, Order::shuffled})
    for (std::uint64_t n = 1; n <= 400; ++n)
      for (const std::uint64_t seed : {0ULL, 1ULL, 42ULL, ~0ULL})
        ASSERT_TRUE(visits_each_once(walk(order, seed, n))) << to_string(order) << " n " << n << " seed " << seed;
}

TEST(Order, ShuffledVisitsLargeFootprintsOnce) {
  for (const std::uint64_t n : {65536ULL, 1000003ULL, 510510ULL})
    EXPECT_TRUE(visits_each_once(walk(Order::shuffled, 7, n)));
}

TEST(Order, ForwardAscendsFromZero) {
  EXPECT_EQ(walk(Order::forward, 9, 4), (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

TEST(Order, ReverseDescendsFromTheEnd) {
  EXPECT_EQ(walk(Order::reverse, 9, 4), (std::vector<std::uint64_t>{3, 2, 1, 0}));
}

TEST(Order, ShuffledNeighboursInTimeLieFarApart) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::uint64_t n = 4096;
    const Stepping s = stepping(Order::shuffled, seed, n);
    EXPECT_GE(s.step, n / 4);
    EXPECT_LE(s.step, n - n / 4);
  }
}

// A sample (the first loads of the order) has to see every part of the footprint.
TEST(Order, ShuffledPrefixSpreadsOverTheFootprint) {
  const std::uint64_t n = 8192;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto positions = walk(Order::shuffled, seed, n);
    std::vector<int> parts(16, 0);
    for (std::size_t k = 0; k < 256; ++k) ++parts[positions[k] * 16 / n];
    for (const int count : parts) EXPECT_GE(count, 4) << "seed " << seed;
  }
}

TEST(Order, SeedsGiveDifferentWalks) {
  EXPECT_NE(walk(Order::shuffled, 1, 1000), walk(Order::shuffled, 2, 1000));
}

TEST(Order, TinyFootprintsAreWalked) {
  for (const Order order : {Order::forward, Order::reverse, Order::shuffled}) {
    EXPECT_EQ(stepping(order, 3, 0).first, 0U);
    EXPECT_EQ(walk(order, 3, 1), std::vector<std::uint64_t>{0});
  }
}

}  // namespace
}  // namespace gputopo::program
