#include "device/sim/set_index.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/random.hpp"

namespace gputopo::sim {
namespace {

using testing::ElementsAre;

Organisation organisation(std::uint32_t sets, IndexKind index = IndexKind::modulo) {
  Organisation o;
  o.sets = sets;
  o.index = index;
  return o;
}

std::vector<std::uint32_t> sets_of_lines(const SetIndex& index, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint32_t> sets;
  for (std::uint64_t line = first; line < first + count; ++line) sets.push_back(index.set_of(line));
  return sets;
}

TEST(Divisor, AgreesWithDivisionAtTheEdges) {
  Random random(1);
  for (const std::uint64_t d : {1ULL, 2ULL, 3ULL, 7ULL, 15360ULL, 65535ULL, 65536ULL, (1ULL << 33) + 1, ~0ULL}) {
    const Divisor divisor(d);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t n = i == 0 ? 0 : i == 1 ? ~0ULL : i == 2 ? d - 1 : i == 3 ? d : random.bits() >> (i % 64);
      EXPECT_EQ(divisor.divide(n).quotient, n / d) << n << "/" << d;
      EXPECT_EQ(divisor.divide(n).remainder, n % d) << n << "/" << d;
    }
  }
}

TEST(SetIndex, ModuloTakesTheLowBits) {
  const SetIndex index(organisation(4), 16);
  EXPECT_THAT(sets_of_lines(index, 0, 8), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_EQ(index.ways(0), 4U);
}

TEST(SetIndex, ModuloWorksForSetCountsThatAreNoPowerOfTwo) {
  const SetIndex index(organisation(6), 24);
  EXPECT_THAT(sets_of_lines(index, 4, 5), ElementsAre(4, 5, 0, 1, 2));
  EXPECT_EQ(index.most_ways(), 4U);
}

TEST(SetIndex, ConsecutiveLinesShareASet) {
  Organisation o = organisation(4);
  o.consecutive_lines = 4;
  const SetIndex index(o, 384);
  EXPECT_THAT(sets_of_lines(index, 0, 20), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 0, 0, 0, 0));
}

TEST(SetIndex, XorFoldsTheFieldsAboveTheIndex) {
  const SetIndex all(organisation(4, IndexKind::xor_fold), 16);
  // 0b01'10'11: 3 ^ 2 ^ 1 = 0.
  EXPECT_EQ(all.set_of(0b011011), 0U);
  Organisation once = organisation(4, IndexKind::xor_fold);
  once.folds = 1;
  // One field above: 3 ^ 2 = 1.
  EXPECT_EQ(SetIndex(once, 16).set_of(0b011011), 1U);
}

TEST(SetIndex, XorOfOtherSetCountsAddsDigits) {
  const SetIndex index(organisation(6, IndexKind::xor_fold), 24);
  // 4 * 36 + 5 * 6 + 3: digits 4, 5, 3; their sum 12 is 0 modulo 6.
  EXPECT_EQ(index.set_of(4 * 36 + 5 * 6 + 3), 0U);
}

TEST(SetIndex, UnequalSetsGetLinesInProportion) {
  Organisation o;
  o.set_ways = {3, 1, 1};
  o.sets = 3;
  const SetIndex index(o, 5);
  // One to each in turn, the large set takes the rest; then the pattern repeats.
  EXPECT_THAT(sets_of_lines(index, 0, 10), ElementsAre(0, 1, 2, 0, 0, 0, 1, 2, 0, 0));
  EXPECT_EQ(index.ways(0), 3U);
  EXPECT_EQ(index.ways(2), 1U);
}

TEST(SetIndex, LinesThatDontDivideMakeSetsDifferByAGroup) {
  const SetIndex index(organisation(4), 10);
  EXPECT_EQ(index.ways(0), 3U);
  EXPECT_EQ(index.ways(1), 3U);
  EXPECT_EQ(index.ways(2), 2U);
  EXPECT_EQ(index.ways(3), 2U);
  EXPECT_EQ(index.set_of(10), 0U) << "the pattern begins anew after ten lines";
}

TEST(SetIndex, FewerLinesThanSetsLeaveFewerSets) {
  const SetIndex index(organisation(64), 5);
  EXPECT_EQ(index.sets(), 5U);
  EXPECT_EQ(index.most_ways(), 1U);
}

// The promise of docs/models.md: an aligned, contiguous footprint of the whole size fits, whatever the function.
TEST(SetIndex, AnyAlignedRunOfTheSizeFillsEverySetExactly) {
  std::vector<Organisation> organisations;
  for (const IndexKind kind : {IndexKind::modulo, IndexKind::xor_fold, IndexKind::hash})
    for (const std::uint32_t sets : {1U, 3U, 4U, 6U, 32U, 60U})
      for (const std::uint32_t group : {1U, 2U, 4U, 3U}) {
        organisations.push_back(organisation(sets, kind));
        organisations.back().consecutive_lines = group;
      }
  for (const Organisation& o : organisations)
    for (const std::uint64_t lines : {5U, 64U, 100U, 192U, 360U, 1927U}) {
      const SetIndex index(o, lines);
      for (const std::uint64_t block : {0ULL, 1ULL, 7ULL, 1ULL << 30}) {
        std::vector<std::uint32_t> load(index.sets(), 0);
        for (std::uint64_t i = 0; i < index.lines(); ++i) ++load[index.set_of(block * index.lines() + i)];
        for (std::uint32_t set = 0; set < index.sets(); ++set)
          ASSERT_EQ(load[set], index.ways(set)) << o.sets << " sets, " << lines << " lines, set " << set;
      }
    }
}

TEST(SetIndex, HashScattersLinesThatModuloPutsIntoOneSet) {
  const SetIndex index(organisation(16, IndexKind::hash), 256);
  std::vector<std::uint32_t> load(16, 0);
  for (std::uint64_t row = 0; row < 1600; ++row) ++load[index.set_of(row * 16)];
  for (const std::uint32_t n : load) EXPECT_NEAR(n, 100, 45);
}

}  // namespace
}  // namespace gputopo::sim
