#include "evidence/chip/chip_parts.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "evidence/chip/sm_sets.hpp"

namespace gputopo::evidence {
namespace {

// Two GPCs of two CPCs each, of pairs: 0 to 7 and 8 to 15.
const SmSets tpcs{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}};
const SmSets cpcs{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};
const SmSets gpcs{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}};
const SmSets clusters{{0, 1},   {2, 3},   {4, 5},    {6, 7},     {8, 9},          {10, 11},
                      {12, 13}, {14, 15}, {0, 2, 3}, {8, 9, 12}, {4, 5, 6, 7, 0}, {10, 11, 12, 13, 14}};

// SM i sees the lines as those of its part do, but for scatter of its own.
Correlations alike_within(const SmSets& parts) {
  std::vector<std::vector<double>> rows(16);
  std::uint64_t state = 7;
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (const std::uint32_t sm : parts[part])
      for (int line = 0; line < 512; ++line) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const double scatter = static_cast<double>(state >> 40U) / 8388608.0 - 1;
        rows[sm].push_back(300 + 10 * std::sin(line * (1.0 + static_cast<double>(part))) + scatter);
      }
  return Correlations(rows);
}

TEST(SmSets, OverlappingSetsAreOne) {
  EXPECT_EQ(joined({{3, 1}, {4, 2}, {1, 4}}, 6), (SmSets{{0}, {1, 2, 3, 4}, {5}}));
  EXPECT_EQ(joined({}, 2), (SmSets{{0}, {1}}));
}

TEST(SmSets, LieWithinSets) {
  EXPECT_TRUE(lie_within({{0, 1}, {2}}, {{0, 1}, {2, 3}}));
  EXPECT_FALSE(lie_within({{1, 2}}, {{0, 1}, {2, 3}}));
}

TEST(ChipParts, AreNamedWhereBothWaysAgree) {
  const ChipParts parts = chip_parts({gpcs, tpcs, cpcs}, clusters, alike_within(cpcs));
  EXPECT_EQ(parts.tpc, tpcs);
  EXPECT_EQ(parts.cpc, cpcs);
  EXPECT_EQ(parts.gpc, gpcs);
  EXPECT_EQ(parts.joined_sms, 16U);
  EXPECT_GT(parts.cpc_separation, 0.5);
}

TEST(ChipParts, AreNotNamedWhereAClusterIsOfTwo) {
  SmSets across = clusters;
  across.push_back({7, 8, 9});
  EXPECT_FALSE(chip_parts({gpcs, tpcs, cpcs}, across, alike_within(cpcs)).gpc);
}

TEST(ChipParts, AreNotNamedWhereClustersOfTwoLieElsewhere) {
  const SmSets shifted{{0, 3}, {1, 2}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}};
  EXPECT_FALSE(chip_parts({gpcs, shifted, cpcs}, clusters, alike_within(cpcs)).tpc);
}

TEST(ChipParts, AreNotNamedWhereSmsSeeTheL2Otherwise) {
  const SmSets mixed{{0, 1, 4, 5}, {2, 3, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};
  const ChipParts parts = chip_parts({gpcs, tpcs, cpcs}, clusters, alike_within(mixed));
  EXPECT_EQ(parts.gpc, gpcs);
  EXPECT_FALSE(parts.cpc);
}

// Pairs that no larger cluster has lie in a GPC by what they share alone, where the rest of it is one part.
TEST(ChipParts, SmsThatClustersLeaveOutAreCounted) {
  const SmSets some{{0, 1},   {2, 3},   {4, 5},   {6, 7},          {8, 9},
                    {10, 11}, {12, 13}, {14, 15}, {0, 1, 2, 3, 4}, {8, 9, 10, 11, 12, 14}};
  const ChipParts parts = chip_parts({gpcs, tpcs}, some, alike_within(cpcs));
  EXPECT_EQ(parts.gpc, gpcs);
  EXPECT_EQ(parts.joined_sms, 14U);
  SmSets none_of_one = tpcs;
  none_of_one.push_back({0, 1, 2});
  EXPECT_FALSE(chip_parts({gpcs, tpcs}, none_of_one, alike_within(cpcs)).gpc);
  SmSets two_of_one = some;
  two_of_one[8] = {0, 1, 2};
  two_of_one.push_back({4, 5, 6});
  EXPECT_FALSE(chip_parts({gpcs, tpcs}, two_of_one, alike_within(cpcs)).gpc);
}

// A pair that no larger cluster has: one candidate puts it with the first GPC, the other with the second.
TEST(ChipParts, AreNotNamedWhereCandidatesContradictEachOther) {
  SmSets some = tpcs;
  some.insert(some.end(), {{0, 2, 4}, {8, 10, 12, 14}});
  const SmSets other{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  EXPECT_TRUE(chip_parts({gpcs, tpcs}, some, alike_within(cpcs)).gpc);
  EXPECT_TRUE(chip_parts({other, tpcs}, some, alike_within(cpcs)).gpc);
  for (const auto& candidates : {std::vector{gpcs, other, tpcs}, std::vector{other, tpcs, gpcs}})
    EXPECT_FALSE(chip_parts(candidates, some, alike_within(cpcs)).gpc);
}

TEST(ChipParts, NothingIsNamedWithoutClusters) {
  const ChipParts parts = chip_parts({gpcs, tpcs, cpcs}, {}, alike_within(cpcs));
  EXPECT_FALSE(parts.tpc || parts.cpc || parts.gpc);
}

}  // namespace
}  // namespace gputopo::evidence
