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
  for (const char* side : {"0", "1"})
    for (const auto& [name, true_name] :
         {std::pair{"near_latency", "latency"}, std::pair{"far_latency", "far_latency"}}) {
      const Estimate* e = l2.find(std::string(name) + "_from_side_" + side);
      ASSERT_NE(e, nullptr) << name << ' ' << side;
      const double expected = *truth.find("l2")->find(true_name)->value;
      EXPECT_NEAR(*e->value, expected, 0.05 * expected) << name << ' ' << side;
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
  EXPECT_EQ(found->find("l2")->find("near_latency_from_side_0"), nullptr);
}

}  // namespace
}  // namespace gputopo
