// Benchmarks of models that nobody tuned anything for bring back what the models say, to 1 %.
#include "random_throughput.hpp"

#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "throughput/registry.hpp"

namespace gputopo::throughput {
namespace {

class RandomModels : public testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    truth_ = random_throughput(GetParam());
    auto model = sim::parse_model(model_text(truth_), "random");
    ASSERT_TRUE(model) << model.error().message;
    const Topology sizes = sim::truth(*model);
    auto device = sim::make_device(std::move(*model));
    Options options;
    for (const Benchmark& b : benchmarks())
      if (b.name != "traffic") options.chosen.push_back(&b);
    auto report = run(*device, sizes, options);
    ASSERT_TRUE(report) << report.error().message;
    report_ = std::move(*report);
  }

  double value_of(std::string_view memory, std::string_view quantity) const {
    for (const Result& result : report_.results)
      for (const Finding& f : result.findings)
        if (f.memory == memory && f.quantity == quantity) return f.estimate.value.value_or(-1);
    return -2;
  }
  void expect(double truth, std::string_view memory, std::string_view quantity) const {
    EXPECT_NEAR(value_of(memory, quantity), truth, 0.01 * truth) << memory << ' ' << quantity;
  }

  RandomThroughput truth_{};
  Report report_;
};

TEST_P(RandomModels, ComeBackWithinOnePercent) {
  const RandomThroughput& t = truth_;
  expect(t.l1_read, "l1", "read_bandwidth");
  expect(t.texture_read, "texture", "read_bandwidth");
  expect(t.constant_read, "constant_l1", "read_bandwidth");
  expect(t.shared_read, "shared", "read_bandwidth");
  expect(t.shared_write, "shared", "write_bandwidth");
  expect(t.shared_copy, "shared", "copy_bandwidth");
  expect(t.l2_read * 1e9, "l2", "read_bandwidth");
  expect(t.l2_same * 1e9, "l2", "shared_read_bandwidth");
  expect(t.l2_write * 1e9, "l2", "write_bandwidth");
  expect(t.l2_copy * 1e9, "l2", "copy_bandwidth");
  expect(t.memory_read * 1e9, "device_memory", "read_bandwidth");
  expect(t.memory_write * 1e9, "device_memory", "write_bandwidth");
  expect(t.memory_copy * 1e9, "device_memory", "copy_bandwidth");
  expect(t.to_device * 1e9, "host_link", "to_device_bandwidth");
  expect(t.to_host * 1e9, "host_link", "to_host_bandwidth");
  expect(t.banks, "shared", "banks");
  expect(t.bank_bytes, "shared", "bank_width");
  expect(t.conflict, "shared", "read_conflict_cost");
  expect(t.conflict, "shared", "write_conflict_cost");
  expect(t.address, "l2", "add_to_one_address");
  expect(t.line, "l2", "add_to_one_line");
  expect(t.shared_address, "shared", "add_to_one_address");
  expect(t.shared_spread, "shared", "add_to_an_address_a_thread");
}

TEST_P(RandomModels, ThresholdsAreExactAndBytesInFlightFollowLittlesLaw) {
  const RandomThroughput& t = truth_;
  expect(t.lines, "requests", "lines_at_full_rate_of_32_bits");
  expect(t.lines, "requests", "items_at_full_rate_of_32_bits");
  expect(t.lines, "requests", "write_lines_at_full_rate_of_32_bits");
  const double scale = t.sms * static_cast<double>(t.clock_khz) / 1e6;
  expect(0.9 * t.memory_read / scale * t.memory_latency, "device_memory", "bytes_in_flight_for_90_percent");
  expect(0.9 * t.l2_read / scale * t.l2_latency, "l2", "bytes_in_flight_for_90_percent");
  expect(0.9 * t.l1_read * t.l1_latency, "l1", "bytes_in_flight_for_90_percent");
  expect(t.memory_latency, "device_memory", "latency_by_littles_law");
  expect(t.l2_latency, "l2", "latency_by_littles_law");
  expect(t.l1_latency, "l1", "latency_by_littles_law");
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomModels, testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace gputopo::throughput
