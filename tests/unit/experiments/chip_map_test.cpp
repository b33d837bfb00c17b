#include "experiments/chip_map.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace gputopo::experiments {
namespace {

// Latencies of 512 lines as a grid of hops: a column a line's slice, near on one side and far on the other; each GPC
// adds a ripple of its own, each CPC a smaller one, each SM a smaller one still.
std::vector<double> latencies_of(double side, double gpc, double cpc, double sm, double cpc_weight) {
  std::vector<double> row;
  for (int line = 0; line < 512; ++line) {
    const double x = line;
    row.push_back(300 + 40 * side * (line % 2 == 0 ? 1 : -1) + 20 * std::sin(0.1 * x * (1 + gpc)) +
                  cpc_weight * std::sin(0.37 * x * (1 + gpc * 3 + cpc)) + std::sin(0.73 * x * (1 + sm)));
  }
  return row;
}

struct Chip {
  std::vector<std::vector<double>> latencies;
  SmSets gpcs;
  SmSets cpcs;
};

// Two sides of two GPCs of two CPCs of two TPCs of two SMs.
Chip chip_of(double cpc_weight) {
  Chip chip;
  for (std::uint32_t sm = 0; sm < 32; ++sm) {
    const std::uint32_t gpc = sm / 8;
    const std::uint32_t cpc = sm / 4;
    chip.latencies.push_back(latencies_of(gpc < 2 ? 1 : -1, gpc, cpc % 2, sm, cpc_weight));
    chip.gpcs.resize(gpc + 1);
    chip.gpcs.back().push_back(sm);
    chip.cpcs.resize(cpc + 1);
    chip.cpcs.back().push_back(sm);
  }
  return chip;
}

SmSets sets_of(const ChipMap& map, std::optional<std::uint32_t> SmPlace::*member) {
  SmSets sets;
  for (const SmPlace& place : map.places) {
    if (!(place.*member)) return {};
    sets.resize(std::max<std::size_t>(sets.size(), *(place.*member) + 1));
    sets[*(place.*member)].push_back(place.sm);
  }
  return sets;
}

TEST(ChipMap, TellsSidesAndCpcsApart) {
  const Chip chip = chip_of(20);
  const ChipMap map = map_of(chip.latencies, chip.gpcs, {2, 2});
  EXPECT_EQ(map.problem, "");
  ASSERT_EQ(map.partitions.size(), 2U);
  EXPECT_EQ(map.partitions[0].size(), 16U);
  EXPECT_EQ(map.partitions[0].back(), 15U);
  EXPECT_GT(map.partition_separation, 0.5);
  EXPECT_EQ(sets_of(map, &SmPlace::cpc), chip.cpcs);
  EXPECT_EQ(sets_of(map, &SmPlace::gpc), chip.gpcs);
  EXPECT_GT(map.cpc_separation, 0.05);
}

TEST(ChipMap, NamesNoCpcsWhereLatenciesDontTellThem) {
  const Chip chip = chip_of(0);
  Chip shuffled = chip;
  // Members of a GPC that all look alike: every split is as good as any other.
  for (std::uint32_t sm = 0; sm < 32; ++sm) shuffled.latencies[sm] = chip.latencies[sm / 8 * 8 + sm % 2];
  const ChipMap map = map_of(shuffled.latencies, chip.gpcs, {2, 2});
  EXPECT_LE(map.cpc_separation, 0);
  EXPECT_TRUE(sets_of(map, &SmPlace::cpc).empty());
  EXPECT_EQ(sets_of(map, &SmPlace::gpc), chip.gpcs);
}

TEST(ChipMap, NamesNoCpcsOfOneTpcEach) {
  const Chip chip = chip_of(20);
  const ChipMap map = map_of(chip.latencies, chip.gpcs, {4, 2});
  EXPECT_TRUE(sets_of(map, &SmPlace::cpc).empty());
  EXPECT_EQ(map.cpc_separation, 0);
}

TEST(ChipMap, KnowsAChipOfOneSide) {
  std::vector<std::vector<double>> rows;
  for (std::uint32_t sm = 0; sm < 8; ++sm) rows.push_back(latencies_of(1, 0, 0, sm, 0));
  const ChipMap map = map_of(rows, {}, {});
  EXPECT_EQ(map.problem, "");
  EXPECT_EQ(map.partitions.size(), 1U);
  EXPECT_FALSE(map.places.front().l2_partition);
}

}  // namespace
}  // namespace gputopo::experiments
