// The sector size read off cold loads, worked by hand: hits take 40 cycles, misses 280, the threshold is 100.
#include "experiments/fetch_granularity.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gputopo::experiments {
namespace {

constexpr double threshold = 100;
constexpr std::uint32_t hit = 40;
constexpr std::uint32_t miss = 280;

// `count` loads, every `period`-th of them a miss.
std::vector<std::uint32_t> cold_walk(std::size_t count, std::size_t period) {
  std::vector<std::uint32_t> latencies(count, hit);
  for (std::size_t i = 0; i < count; i += period) latencies[i] = miss;
  return latencies;
}

TEST(FetchGranularity, IsThePeriodOfMissesTimesTheStride) {
  // One load in 8 of 4 B each misses: sectors of 32 B.
  const Estimate e = fetch_granularity_of(cold_walk(256, 8), 4, threshold);
  EXPECT_EQ(e.status, Status::measured);
  EXPECT_EQ(e.value, 32);
  EXPECT_EQ(e.unit, "B");
  EXPECT_EQ(e.samples, 256U);
  EXPECT_EQ(e.confidence, 1.0);
  EXPECT_EQ(fetch_granularity_of(cold_walk(256, 4), 64, threshold).value, 256);
}

TEST(FetchGranularity, IsTheStrideWhereEveryLoadMisses) {
  EXPECT_EQ(fetch_granularity_of(cold_walk(64, 1), 32, threshold).value, 32);
}

TEST(FetchGranularity, ForgivesAnOutlierAmongHits) {
  auto latencies = cold_walk(256, 8);
  latencies[13] = 900;
  const Estimate e = fetch_granularity_of(latencies, 4, threshold);
  EXPECT_EQ(e.value, 32);
  EXPECT_LT(*e.confidence, 1.0);
}

TEST(FetchGranularity, ForgivesASectorThatWasThereAlready) {
  auto latencies = cold_walk(256, 8);
  latencies[64] = hit;
  EXPECT_EQ(fetch_granularity_of(latencies, 4, threshold).value, 32);
}

TEST(FetchGranularity, IsInconclusiveWhereMissesHaveNoPeriod) {
  std::vector<std::uint32_t> latencies(256, hit);
  for (std::size_t i = 0; i < 256; i += 3) latencies[i] = miss;
  const Estimate e = fetch_granularity_of(latencies, 4, threshold);
  EXPECT_EQ(e.status, Status::inconclusive);
  EXPECT_FALSE(e.value.has_value());
  EXPECT_FALSE(e.note.empty());
}

TEST(FetchGranularity, IsInconclusiveWhereNothingMisses) {
  EXPECT_EQ(fetch_granularity_of(std::vector<std::uint32_t>(256, hit), 4, threshold).status, Status::inconclusive);
}

TEST(FetchGranularity, IsInconclusiveWithoutLoads) {
  EXPECT_EQ(fetch_granularity_of({}, 4, threshold).status, Status::inconclusive);
}

TEST(FetchGranularity, MindsTheThresholdAloneWhateverTheJitter) {
  // Hits of 38 to 99 cycles, misses of 100 to 340: what lies on the threshold missed.
  std::vector<std::uint32_t> latencies;
  for (std::uint32_t i = 0; i < 256; ++i) latencies.push_back(i % 8 == 0 ? 100 + i % 241 : 38 + i % 62);
  const Estimate e = fetch_granularity_of(latencies, 4, threshold);
  EXPECT_EQ(e.value, 32);
  EXPECT_EQ(e.confidence, 1.0);
}

TEST(FetchGranularity, GivesUpWhereMoreThanOneInTwentyHitsLooksLikeAMiss) {
  // 224 loads lie between the starts of sectors: 5 % of them are 11.2.
  auto latencies = cold_walk(256, 8);
  std::size_t planted = 0;
  for (std::size_t i = 1; planted < 11; i += 16, ++planted) latencies[i] = miss;
  EXPECT_EQ(fetch_granularity_of(latencies, 4, threshold).value, 32);
  for (std::size_t i = 3; planted < 13; i += 16, ++planted) latencies[i] = miss;
  EXPECT_EQ(fetch_granularity_of(latencies, 4, threshold).status, Status::inconclusive);
}

TEST(FetchGranularity, NeedsFourPeriodsToSpeak) {
  // Three misses in 24 loads: too few to tell a period of 8 from chance.
  EXPECT_EQ(fetch_granularity_of(cold_walk(24, 8), 4, threshold).status, Status::inconclusive);
  EXPECT_EQ(fetch_granularity_of(cold_walk(32, 8), 4, threshold).value, 32);
}

}  // namespace
}  // namespace gputopo::experiments
