// A deep discovery has the bandwidths as attributes, in bytes a second of all SMs together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "random_throughput.hpp"
#include "tests/recorded/experiments/without_curve.hpp"

namespace gputopo::throughput {
namespace {

Topology discovered_model(bool deep, std::vector<DecidingCurve>* curves = nullptr) {
  auto device = sim::make_device(*sim::parse_model(model_text(random_throughput(2)), "random"));
  experiments::DiscoverOptions options;
  options.extras = false;
  options.deep = deep;
  options.curves = curves;
  options.only = {"l1", "l2", "shared", "device_memory"};
  const auto topology = experiments::discover(*device, options);
  EXPECT_TRUE(topology) << topology.error().message;
  return topology.value_or(Topology{});
}

TEST(DeepDiscovery, GivesEveryLevelsBandwidth) {
  const RandomThroughput t = random_throughput(2);
  std::vector<DecidingCurve> curves;
  const Topology topology = discovered_model(true, &curves);
  EXPECT_THAT(test::without_curve(topology, curves), ::testing::IsEmpty());
  const double of_sms = t.sms * static_cast<double>(t.clock_khz) * 1e3;
  const auto expect = [&](const char* memory, const char* attribute, double truth) {
    const Estimate* e = topology.find(memory)->find(attribute);
    ASSERT_NE(e, nullptr) << memory << ' ' << attribute;
    EXPECT_NEAR(e->value.value_or(0), truth, 0.01 * truth) << memory << ' ' << attribute;
    EXPECT_EQ(e->unit, "B/s");
    EXPECT_EQ(e->status, Status::measured);
    EXPECT_TRUE(e->interval->low <= *e->value && *e->value <= e->interval->high);
    EXPECT_FALSE(e->note.empty()) << "the configuration";
  };
  expect("l1", "read_bandwidth", t.l1_read * of_sms);
  expect("shared", "write_bandwidth", t.shared_write * of_sms);
  expect("l2", "read_bandwidth", t.l2_read * 1e9);
  expect("l2", "write_bandwidth", t.l2_write * 1e9);
  expect("device_memory", "copy_bandwidth", t.memory_copy * 1e9);
}

TEST(DeepDiscovery, IsTheOnlyOneThatStreams) {
  for (const Memory& m : discovered_model(false).memories) EXPECT_EQ(m.find("read_bandwidth"), nullptr) << m.id;
}

}  // namespace
}  // namespace gputopo::throughput
