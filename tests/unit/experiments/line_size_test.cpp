// The line size read off shifted walks, worked by hand.
#include "experiments/line_size.hpp"

#include <variant>
#include <vector>

#include <gmock/gmock.h>

namespace gputopo::experiments {
namespace {

using testing::ElementsAre;

constexpr CachePath l1_path{"l1", "L1", program::Path::global_cached, slot_global};

TEST(LineSize, IsTheLastStrideWhoseHalvesShareALine) {
  // Line of 128 B: half strides of 32 and 64 B stay within it, 128 B don't.
  const std::vector<ShiftedMisses> misses{{64, 1.0, 100}, {128, 1.0, 50}, {256, 0.0, 25}};
  const Estimate e = line_size_of(misses, 32);
  EXPECT_EQ(e.status, Status::measured);
  EXPECT_EQ(e.value, 128);
  EXPECT_EQ(e.samples, 175U);
  EXPECT_EQ(e.confidence, 1.0);
}

TEST(LineSize, IsTheSectorWhereEvenItsDoubleFits) {
  const std::vector<ShiftedMisses> misses{{64, 0.02, 100}};
  EXPECT_EQ(line_size_of(misses, 32).value, 32);
}

TEST(LineSize, TakesRandomReplacementsLowMissShareForThrashing) {
  const std::vector<ShiftedMisses> misses{{64, 0.31, 100}, {128, 0.08, 50}};
  EXPECT_EQ(line_size_of(misses, 32).value, 64);
}

TEST(LineSize, IsInconclusiveWhereNoStrideFits) {
  const std::vector<ShiftedMisses> misses{{64, 1.0, 100}, {128, 0.9, 50}};
  EXPECT_EQ(line_size_of(misses, 32).status, Status::inconclusive);
  EXPECT_EQ(line_size_of({}, 32).status, Status::inconclusive);
}

TEST(LineSize, IgnoresWhatComesBehindTheFirstStrideThatFits) {
  // Far strides thrash again where their few lines fall into one set.
  const std::vector<ShiftedMisses> misses{{64, 1.0, 10}, {128, 0.0, 10}, {256, 1.0, 10}};
  EXPECT_EQ(line_size_of(misses, 32).value, 64);
  EXPECT_EQ(line_size_of(misses, 32).samples, 20U);
}

TEST(LineSize, TrustsAFitThatJitterBlursLess) {
  const std::vector<ShiftedMisses> misses{{64, 1.0, 10}, {128, 0.1, 10}};
  EXPECT_DOUBLE_EQ(*line_size_of(misses, 32).confidence, 0.9);
}

TEST(DoubtfulStride, IsTheDecidingOneWhereFewLoadsDisagree) {
  // Ten loads, one or none of which misses by chance in one place, and three in the other.
  const std::vector<ShiftedMisses> misses{{64, 1.0, 20}, {64, 1.0, 20}, {128, 0.3, 10}, {128, 0.1, 10}};
  EXPECT_EQ(doubtful_stride(misses), 128U);
}

TEST(DoubtfulStride, IsNoneWherePlacesAgree) {
  const std::vector<ShiftedMisses> agree{{64, 1.0, 20}, {64, 0.9, 20}, {128, 0.0, 10}, {128, 0.1, 10}};
  EXPECT_FALSE(doubtful_stride(agree).has_value());
  EXPECT_FALSE(doubtful_stride({}).has_value());
}

TEST(DoubtfulStride, IsNoneWhereManyLoadsDecide) {
  const std::vector<ShiftedMisses> many{{128, 0.3, 256}, {128, 0.1, 256}};
  EXPECT_FALSE(doubtful_stride(many).has_value());
}

TEST(FewestMisses, OfNothingAreNone) {
  EXPECT_TRUE(fewest_misses({}).empty());
}

TEST(FewestMisses, KeepsTheBestPlaceOfEachStride) {
  const std::vector<ShiftedMisses> misses{{64, 1.0, 10}, {64, 0.9, 10}, {128, 0.0, 5}, {128, 0.5, 5}};
  const auto fewest = fewest_misses(misses);
  ASSERT_EQ(fewest.size(), 2U);
  EXPECT_EQ(fewest[0].stride_bytes, 64U);
  EXPECT_EQ(fewest[0].miss_share, 0.9);
  EXPECT_EQ(fewest[0].samples, 20U);
  EXPECT_EQ(fewest[1].miss_share, 0.0);
}

TEST(LineSizeStrides, DoubleFromTwiceTheSectorToHalfTheCapacity) {
  EXPECT_THAT(line_size_strides(32, 1024), ElementsAre(64, 128, 256, 512));
}

TEST(LineSizeStrides, AreNoneWhereTheCacheHoldsThreeSectors) {
  EXPECT_TRUE(line_size_strides(32, 96).empty());
}

TEST(LineSizeStrides, EndAtTwiceTheLargestLineThereIs) {
  EXPECT_EQ(line_size_strides(32, 1 << 20).back(), 8192U);
}

TEST(ShiftedPattern, WalksTwoRegionsOfThreeFifthsHalfAStrideApart) {
  // 0.6 x 2048 B = 1228 B, in whole strides of 128 B: 1280 B.
  const auto phases = shifted_pattern(l1_path, 2048, 128, 384, 2, 1);
  ASSERT_EQ(phases.size(), 4U);
  const auto& a = std::get<program::Walk>(phases[0]);
  const auto& b = std::get<program::Walk>(phases[1]);
  EXPECT_EQ(a.first_byte, 0U);
  EXPECT_EQ(a.footprint_bytes, 1280U);
  EXPECT_EQ(a.stride_bytes, 128U);
  EXPECT_EQ(b.first_byte, 1280U + 384U + 64U);
  EXPECT_EQ(b.footprint_bytes, 1280U);
  EXPECT_EQ(phases[2], phases[0]);
  EXPECT_EQ(phases[3], phases[1]);
}

TEST(ShiftedPattern, OverflowsEvenACacheOfFewLines) {
  // Both regions' bytes together are more than the capacity, whatever the stride.
  for (const std::uint64_t stride : line_size_strides(32, 896)) {
    const auto phases = shifted_pattern(l1_path, 896, stride, 0, 1, 1);
    EXPECT_GT(2 * std::get<program::Walk>(phases[0]).footprint_bytes, 896U) << stride;
  }
}

}  // namespace
}  // namespace gputopo::experiments
