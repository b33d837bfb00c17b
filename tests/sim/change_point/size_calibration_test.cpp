// Over many simulated caches: how often is the interval right, and how far off is the estimate?
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "evidence/traces/traces.hpp"
#include "simulated_cache.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

struct Coverage {
  int caches = 0;
  int covered = 0;
  int off = 0;  // by more than one line, or not a value at all
  int exact = 0;
  double confidence = 0;

  void add(const Estimate& finding, double truth, double line_bytes) {
    const bool is_value = finding.status == Status::measured;
    ++caches;
    covered += static_cast<int>(is_value && finding.interval->low <= truth && truth <= finding.interval->high);
    off += static_cast<int>(!is_value || std::abs(*finding.value - truth) > line_bytes);
    exact += static_cast<int>(is_value && finding.value == truth);
    confidence += finding.confidence.value_or(0);
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
  Coverage all;
  std::map<std::string, Coverage> by_policy;
  for (std::uint64_t seed = 1; seed <= caches; ++seed) {
    const auto cache = change_point::testing::random_cache(seed);
    const Estimate finding = find_size(change_point::testing::simulate(cache), {});
    const double truth = change_point::testing::truth_bytes(cache);
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
  auto loud = change_point::testing::random_cache(11);
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
  const Estimate sure = find_size(change_point::testing::simulate(loud), {});
  const Estimate unsure = find_size(change_point::testing::simulate(quiet), {});
  ASSERT_EQ(sure.status, Status::measured);
  ASSERT_EQ(unsure.status, Status::measured);
  EXPECT_GT(*sure.confidence, 0.8);
  EXPECT_LT(*unsure.confidence, sure.confidence);
  EXPECT_GT(unsure.interval->high - unsure.interval->low, sure.interval->high - sure.interval->low);

  // A longer sweep with nothing new in it says nothing new.
  auto longer = loud;
  longer.first_lines -= 200;
  longer.rows += 200;
  EXPECT_NEAR(*find_size(change_point::testing::simulate(longer), {}).confidence, *sure.confidence, 0.1);
}

TEST(SizeCalibration, FixedExtraMissIsNotTheCapacity) {
  auto cache = change_point::testing::random_cache(5);
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
    const Estimate finding = find_size(change_point::testing::simulate(cache), {});
    EXPECT_EQ(finding.status, Status::measured) << laps;
    EXPECT_EQ(finding.value, 32 * 64) << laps;
  }
}

}  // namespace
}  // namespace gputopo::evidence
