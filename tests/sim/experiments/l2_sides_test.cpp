// Near and far latency from either side of an L2 of two partitions.
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

TEST(L2Sides, SeeTheirOwnPartitionNearAndTheOtherOneFar) {
  auto model = sim::builtin_model("h200");
  ASSERT_TRUE(model) << model.error().message;
  const Topology truth = sim::truth(*model);
  const auto device = sim::make_device(std::move(*model));
  const auto found = experiments::discover(*device, {});
  ASSERT_TRUE(found) << found.error().message;
  const Memory& l2 = *found->find("l2");
  EXPECT_EQ(l2.structure.at("l2_sides").value, "2");
  for (const char* name : {"latency", "far_latency"}) {
    const Estimate* e = l2.find(name);
    ASSERT_NE(e, nullptr) << name;
    const double expected = *truth.find("l2")->find(name)->value;
    EXPECT_NEAR(*e->value, expected, 0.02 * expected) << name;
    ASSERT_TRUE(e->interval);
    EXPECT_LE(e->interval->low, *e->value);
    EXPECT_GE(e->interval->high, *e->value);
  }
}

TEST(L2Sides, AreLeftOutWhereThereIsOne) {
  auto model = sim::builtin_model("v100");
  ASSERT_TRUE(model) << model.error().message;
  const auto device = sim::make_device(std::move(*model));
  const auto found = experiments::discover(*device, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->find("l2")->find("partitions"), nullptr);
  EXPECT_EQ(found->find("l2")->find("far_latency"), nullptr);
}

}  // namespace
}  // namespace gputopo
