// Over many simulated caches: how often is the interval right, and how far off is the estimate?
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "change_point/finding.hpp"
#include "simulated_cache.hpp"

namespace gputopo::change_point {
namespace {

struct Tally {
  int caches = 0;
  int covered = 0;
  int off = 0;  // by more than one line, or not a value at all
  int exact = 0;
  double confidence = 0;

  void add(const Finding& finding, double truth, double line_bytes) {
    const bool is_value = finding.verdict == Verdict::value;
    ++caches;
    covered += static_cast<int>(is_value && finding.low <= truth && truth <= finding.high);
    off += static_cast<int>(!is_value || std::abs(finding.value - truth) > line_bytes);
    exact += static_cast<int>(is_value && finding.value == truth);
    confidence += finding.confidence;
  }
  void print(const std::string& name) const {
    const double count = caches;
    std::printf("| %-15s | %6d | %7.2f %% | %11.2f %% | %6.2f %% | %10.3f |\n", name.c_str(), caches,
                100 * covered / count, 100 * off / count, 100 * exact / count, confidence / count);
  }
};

TEST(SizeCalibration, IntervalCoversAndEstimateIsWithinOneLine) {
  constexpr std::uint64_t caches = 2000;
  const char* const policies[] = {"lru", "fifo", "random", "tree_plru", "not_most_recent"};
  Tally all;
  std::map<std::string, Tally> by_policy;
  for (std::uint64_t seed = 1; seed <= caches; ++seed) {
    const auto cache = testing::random_cache(seed);
    const Finding finding = find_size(testing::simulate(cache), {});
    const double truth = testing::truth_bytes(cache);
    const double line = static_cast<double>(cache.line_bytes);
    all.add(finding, truth, line);
    by_policy[policies[static_cast<std::size_t>(cache.organisation.replacement)]].add(finding, truth, line);
  }
  std::printf("| policy          | caches | interval  | off > 1 line  | exact    | confidence |\n");
  for (const auto& [name, tally] : by_policy) {
    tally.print(name);
  }
  all.print("all");
  EXPECT_GE(all.covered, 0.93 * caches);
  EXPECT_LE(all.off, 0.01 * caches);
}

TEST(SizeCalibration, ConfidenceFollowsTheData) {
  // The same cache, a first overflow that is loud (LRU) or quiet (one miss in many loads, among outliers).
  auto loud = testing::random_cache(11);
  loud.organisation = {};
  loud.organisation.sets = 16;
  loud.lines = 512;
  loud.first_lines = 490;
  loud.rows = 60;
  loud.step_lines = 1;
  loud.laps = 1;
  loud.hit_cycles = 40;
  loud.miss_cycles = 240;
  loud.jitter_cycles = 2;
  loud.outlier_probability = 1e-3;
  loud.outlier_cycles = 200;
  loud.fixed_miss_from_lines = 0;
  auto quiet = loud;
  quiet.organisation.sets = 1;
  quiet.organisation.replacement = sim::Replacement::not_most_recent;
  const Finding sure = find_size(testing::simulate(loud), {});
  const Finding unsure = find_size(testing::simulate(quiet), {});
  ASSERT_EQ(sure.verdict, Verdict::value);
  ASSERT_EQ(unsure.verdict, Verdict::value);
  EXPECT_GT(sure.confidence, 0.8);
  EXPECT_LT(unsure.confidence, sure.confidence);
  EXPECT_GT(unsure.high - unsure.low, sure.high - sure.low);

  // A longer sweep with nothing new in it says nothing new.
  auto longer = loud;
  longer.first_lines -= 200;
  longer.rows += 200;
  EXPECT_NEAR(find_size(testing::simulate(longer), {}).confidence, sure.confidence, 0.1);
}

TEST(SizeCalibration, FixedExtraMissIsNotTheCapacity) {
  auto cache = testing::random_cache(5);
  cache.organisation = {};
  cache.organisation.sets = 8;
  cache.lines = 32;
  cache.line_bytes = 64;
  cache.first_lines = 20;
  cache.step_lines = 1;
  cache.rows = 30;
  cache.jitter_cycles = 0;
  cache.outlier_probability = 0;
  cache.fixed_miss_from_lines = 24;
  for (const std::uint64_t laps : {1, 2, 8}) {
    cache.laps = laps;
    const Finding finding = find_size(testing::simulate(cache), {});
    EXPECT_EQ(finding.verdict, Verdict::value) << laps;
    EXPECT_EQ(finding.value, 32 * 64) << laps;
  }
}

}  // namespace
}  // namespace gputopo::change_point
