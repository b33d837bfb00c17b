#include "evidence/chip/sm_clusters.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "evidence/chip/sm_latencies.hpp"

namespace gputopo::evidence {
namespace {

// SM i's latencies to 256 lines: `pattern` times +1 or -1 by its side, and scatter of its own.
std::vector<std::vector<double>> vectors(const std::vector<int>& sides, double amplitude) {
  std::vector<std::vector<double>> all;
  std::uint64_t state = 3;
  const auto noise = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 40U) / 8388608.0 - 1;
  };
  for (const int side : sides) {
    auto& v = all.emplace_back();
    for (int line = 0; line < 256; ++line) v.push_back(300 + side * amplitude * std::sin(line) + 3 * noise());
  }
  return all;
}

TEST(SmClusters, OppositePatternsAreTwoSides) {
  const SmSets sides = opposite_sides(Correlations(vectors({1, -1, 1, -1, -1, 1}, 20)), 2);
  EXPECT_EQ(sides, (SmSets{{0, 2, 5}, {1, 3, 4}}));
}

TEST(SmClusters, LikePatternsAreOneSet) {
  EXPECT_EQ(opposite_sides(Correlations(vectors({1, 1, 1, 1}, 20)), 2).size(), 1U);
}

TEST(SmClusters, ScatterAloneIsNoSide) {
  EXPECT_EQ(opposite_sides(Correlations(vectors({1, -1, 1, -1}, 0)), 2).size(), 1U);
}

// Each line is near for the SMs of one side; where it lies counts for all of them alike.
TEST(SmClusters, LinesOnFourSidesAreFourSets) {
  auto all = vectors({0, 0, 0, 0, 0, 0}, 0);
  const std::vector<int> sides = {0, 1, 2, 3, 1, 0};
  for (std::size_t sm = 0; sm < sides.size(); ++sm)
    for (std::size_t line = 0; line < all[sm].size(); ++line)
      all[sm][line] += 10 * std::sin(static_cast<double>(line)) +
                       (static_cast<int>((line * 2654435761U >> 7U) % 4) == sides[sm] ? 0 : 20);
  EXPECT_EQ(opposite_sides(Correlations(beyond_nearest(all)), 4), (SmSets{{0, 5}, {1, 4}, {2}, {3}}));
}

TEST(SmClusters, SeparationTellsHowSure) {
  const Correlations r(vectors({1, -1, 1, -1}, 20));
  EXPECT_GT(separation(r, {{0, 2}, {1, 3}}), 1.5);
  EXPECT_LT(separation(r, {{0, 1}, {2, 3}}), 0);
}

}  // namespace
}  // namespace gputopo::evidence
