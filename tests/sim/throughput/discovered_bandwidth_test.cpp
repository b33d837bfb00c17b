// Every discovery has the bandwidths as attributes, in bytes a second of all SMs together: a deep one what they are,
// another one what they are at least.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "random_throughput.hpp"
#include "tests/recorded/experiments/without_curve.hpp"

namespace gputopo::throughput {
namespace {

constexpr std::uint64_t model_seed = 3;  // of several SMs: one alone has nobody to share an L2 with

Topology discovered_model(bool deep, std::uint64_t seed, std::vector<DecidingCurve>* curves) {
  auto device = sim::make_device(*sim::parse_model(model_text(random_throughput(seed)), "random"));
  experiments::DiscoverOptions options;
  options.deep = deep;
  options.curves = curves;
  options.only = {"l1", "l2", "shared", "device_memory"};
  const auto topology = experiments::discover(*device, options);
  EXPECT_TRUE(topology) << topology.error().message;
  return topology.value_or(Topology{});
}

TEST(DeepDiscovery, GivesEveryLevelsBandwidth) {
  const RandomThroughput t = random_throughput(model_seed);
  std::vector<DecidingCurve> curves;
  const Topology topology = discovered_model(true, model_seed, &curves);
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
  expect("device_memory", "copy_bandwidth", std::min(t.memory_copy, 2 * t.memory_waits()) * 1e9);
}

// One time in twenty more than the truth, by no more than the noise of a run twice, and nearly as much.
TEST(Discovery, SaysHowMuchEveryLevelDeliversAtLeast) {
  int bounds = 0, too_high = 0;
  for (std::uint64_t seed = model_seed; seed < model_seed + 40; ++seed) {
    const RandomThroughput t = random_throughput(seed);
    const Topology topology = discovered_model(false, seed, nullptr);
    const double of_sms = t.sms * static_cast<double>(t.clock_khz) * 1e3;
    const auto expect = [&](const char* memory, const char* attribute, double truth) {
      SCOPED_TRACE(fmt::format("{} {} of model {}", memory, attribute, seed));
      const Estimate* e = topology.find(memory)->find(attribute);
      ASSERT_NE(e, nullptr);
      EXPECT_EQ(e->status, Status::lower_bound);
      EXPECT_EQ(e->method, "brief_search");
      EXPECT_LE(*e->value, (1 + 2 * t.noise) * truth);
      EXPECT_GE(*e->value, 0.9 * truth);
      ++bounds;
      too_high += *e->value > truth ? 1 : 0;
    };
    expect("l1", "read_bandwidth", t.l1_read * of_sms);
    expect("shared", "write_bandwidth", t.shared_write * of_sms);
    expect("l2", "read_bandwidth", t.l2_read * 1e9);
    expect("l2", "write_bandwidth", t.l2_write * 1e9);
    expect("device_memory", "copy_bandwidth", std::min(t.memory_copy, 2 * t.memory_waits()) * 1e9);
    expect("device_memory", "to_host_bandwidth", t.to_host * 1e9);
  }
  EXPECT_EQ(bounds, 240);
  EXPECT_LE(too_high, 240 / 20 + 3 * 3.4) << "twelve, give or take three standard deviations";
}

// Two copies to the device of three wait for somebody else, a hundred times as long as they take.
class Waiting final : public device::Device {
 public:
  explicit Waiting(device::Device& inner) : inner_(inner) {}
  const device::DeviceInfo& info() const override { return inner_.info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override { return inner_.run(batch); }
  Expected<program::StreamTrace> run_stream(const program::Stream& s) override {
    auto trace = inner_.run_stream(s);
    if (trace && s.operation == program::Operation::upload && copies_++ % 3 != 0) trace->ns *= 100;
    return trace;
  }

 private:
  device::Device& inner_;
  int copies_ = 0;
};

TEST(Discovery, StatesNoBoundThatNothingReached) {
  auto device = sim::make_device(*sim::parse_model(model_text(random_throughput(model_seed)), "random"));
  Waiting waiting(*device);
  experiments::DiscoverOptions options;
  options.only = {"device_memory"};
  const auto topology = experiments::discover(waiting, options);
  ASSERT_TRUE(topology) << topology.error().message;
  const Estimate* to_device = topology->find("device_memory")->find("to_device_bandwidth");
  ASSERT_NE(to_device, nullptr);
  EXPECT_EQ(to_device->status, Status::inconclusive);
  EXPECT_FALSE(to_device->value);
  EXPECT_GT(topology->find("device_memory")->find("to_host_bandwidth")->value.value_or(0), 0);
}

}  // namespace
}  // namespace gputopo::throughput
