// Where kernel, timing and counters are sound, they agree exactly.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_gpu.hpp"
#include "counters/metrics.hpp"
#include "experiments/crosscheck/crosscheck.hpp"

namespace gputopo::experiments {
namespace {

class Agreement : public ::testing::TestWithParam<const char*> {};

TEST_P(Agreement, TimingAndCountersAreEqualAtEveryFootprint) {
  CountedGpu gpu(quiet_model());
  DiscoverOptions options;
  options.only = {GetParam()};
  Topology truth = sim::truth(quiet_model());
  sim::add_instructions(quiet_model(), truth);
  const auto report = cross_check(gpu, gpu, truth, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->verdict(GetParam()), verdict_equal) << ::testing::PrintToString(report->notes);
  std::set<std::uint64_t> sizes;
  std::size_t loads = 0;
  std::size_t change_points = 0;
  double least = 1e18;
  double most = 0;
  for (const CrossCheck& entry : report->entries) {
    EXPECT_EQ(entry.memory, GetParam());
    EXPECT_EQ(entry.verdict, verdict_equal)
        << entry.metric << ' ' << entry.size_bytes << ' ' << entry.by_timing << ' ' << entry.by_counter;
    if (entry.metric.starts_with("change point: ")) {
      ++change_points;
    } else if (entry.metric.starts_with("loads: ")) {
      ++loads;
      EXPECT_EQ(entry.by_timing, static_cast<double>(entry.loads));
    } else {
      sizes.insert(entry.size_bytes);
      least = std::min(least, entry.by_timing / static_cast<double>(entry.loads));
      most = std::max(most, entry.by_timing / static_cast<double>(entry.loads));
    }
  }
  EXPECT_GE(sizes.size(), 12U);
  const bool counts_loads = !counters::find_chip(gpu.chip())->find(GetParam())->loads.empty();
  if (counts_loads)
    EXPECT_GE(loads, sizes.size());
  else
    EXPECT_EQ(loads, 0U);
  EXPECT_EQ(change_points, 1U);
  EXPECT_LT(least, most) << "no footprint told hits from misses";
}

INSTANTIATE_TEST_SUITE_P(Caches, Agreement,
                         ::testing::Values("l1", "texture", "read_only", "constant_l1", "constant_l1_5",
                                           "instruction_l1", "instruction_l1_5"),
                         [](const auto& p) { return std::string(p.param); });

TEST(Agreement, TheChangePointIsTheCapacityToTheLine) {
  CountedGpu gpu(quiet_model());
  for (const char* memory : {"l1", "constant_l1_5"}) {
    DiscoverOptions options;
    options.only = {memory};
    const Topology truth = sim::truth(quiet_model());
    const auto report = cross_check(gpu, gpu, truth, options);
    ASSERT_TRUE(report) << report.error().message;
    const double size = *truth.find(memory)->find("size")->value;
    const double line = *truth.find(memory)->find("line_size")->value;
    for (const CrossCheck& entry : report->entries)
      if (entry.metric.starts_with("change point: ")) {
        EXPECT_NEAR(entry.by_counter, size, line) << memory;
        EXPECT_EQ(entry.by_counter, entry.by_timing) << memory;
      }
  }
}

TEST(Agreement, SeveralCarveOutsAreTried) {
  CountedGpu gpu(quiet_model());
  DiscoverOptions options;
  options.only = {"l1"};
  const auto report = cross_check(gpu, gpu, sim::truth(quiet_model()), options);
  ASSERT_TRUE(report);
  std::set<std::uint32_t> carve_outs;
  for (const CrossCheck& entry : report->entries) carve_outs.insert(entry.carve_out_percent);
  EXPECT_THAT(carve_outs, ::testing::ElementsAre(0, 50, 100));
}

}  // namespace
}  // namespace gputopo::experiments
