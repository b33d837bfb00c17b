// Planted faults: none of them may pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_gpu.hpp"
#include "experiments/crosscheck/crosscheck.hpp"

namespace gputopo::experiments {
namespace {

struct Planted {
  const char* name;
  Faults faults;
  const char* memory;
  const char* betrayed_by;  // how the metrics that must differ begin
};

class Fault : public ::testing::TestWithParam<Planted> {};

TEST_P(Fault, MakesTheCheckFailAndTheSizeInconclusive) {
  CountedGpu gpu(quiet_model(), GetParam().faults);
  DiscoverOptions options;
  options.only = {GetParam().memory};
  Topology topology = sim::truth(quiet_model());
  const auto report = cross_check(gpu, gpu, topology, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->verdict(GetParam().memory), verdict_differs);
  std::size_t differing = 0;
  for (const CrossCheck& entry : report->entries)
    if (entry.verdict == verdict_differs && entry.metric.starts_with(GetParam().betrayed_by)) ++differing;
  EXPECT_GE(differing, 1U);
  const double size = *topology.find(GetParam().memory)->find("size")->value;
  apply(*report, topology);
  const Estimate& estimate = *topology.find(GetParam().memory)->find("size");
  EXPECT_EQ(estimate.status, Status::inconclusive);
  EXPECT_FALSE(estimate.has_value());
  EXPECT_THAT(estimate.note,
              ::testing::HasSubstr("timing said " + std::to_string(static_cast<long>(size)) + " B, but "));
  EXPECT_EQ(topology.crosscheck, report->entries);
}

constexpr Faults warm_up{.drops_warm_up = true};
constexpr Faults hoisted{.hoists_a_load = true};
constexpr Faults low{.stretches_hits = 0.1};
constexpr Faults lossy{.loses_misses = 0.01};

INSTANTIATE_TEST_SUITE_P(Planted, Fault,
                         ::testing::Values(Planted{"dropped_warm_up_l1", warm_up, "l1", "loads: "},
                                           Planted{"dropped_warm_up_texture", warm_up, "texture", "loads: "},
                                           Planted{"dropped_warm_up_constant_l1", warm_up, "constant_l1", "loads: "},
                                           Planted{"hoisted_load_l1", hoisted, "l1", "loads: "},
                                           Planted{"hoisted_load_read_only", hoisted, "read_only", "loads: "},
                                           Planted{"hoisted_load_constant_l1_5", hoisted, "constant_l1_5", "loads: "},
                                           Planted{"lost_misses_l1", lossy, "l1", "l1tex__"}),
                         [](const auto& p) { return std::string(p.param.name); });

// Hits that read shorter than they are, as a whole, no longer put a threshold into the wrong place: it lies between
// hits and misses that were measured for this check, wherever they lie.
TEST(Fault, HitsThatReadShortAreStillToldFromMisses) {
  for (const char* memory : {"l1", "constant_l1"}) {
    CountedGpu gpu(quiet_model(), low);
    DiscoverOptions options;
    options.only = {memory};
    Topology topology = sim::truth(quiet_model());
    const auto report = cross_check(gpu, gpu, topology, options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->verdict(memory), verdict_equal) << memory;
  }
}

TEST(Fault, FailuresOfOneMemoryLeaveTheOthersAlone) {
  Topology topology = sim::truth(quiet_model());
  CrossCheckReport report;
  report.entries = {{"l1", "m", 1024, 32, 8, 9, "differs"}, {"texture", "m", 1024, 32, 8, 8, "equal"}};
  apply(report, topology);
  EXPECT_EQ(topology.find("l1")->find("size")->status, Status::inconclusive);
  EXPECT_EQ(topology.find("texture")->find("size")->status, Status::truth);
  EXPECT_THAT(topology.find("texture")->find("size")->note, ::testing::HasSubstr("confirmed by counters"));
  EXPECT_EQ(topology.find("read_only")->find("size")->note, "");
}

}  // namespace
}  // namespace gputopo::experiments
