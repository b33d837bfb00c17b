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
  if (t.behind_bytes != 0) expect(t.behind_read, "constant_l1_5", "read_bandwidth");
  expect(t.shared_read, "shared", "read_bandwidth");
  expect(t.shared_write, "shared", "write_bandwidth");
  expect(t.shared_copy, "shared", "copy_bandwidth");
  expect(t.l2_read * 1e9, "l2", "read_bandwidth");
  expect(t.l2_same * 1e9, "l2", "shared_read_bandwidth");
  expect(t.l2_write * 1e9, "l2", "write_bandwidth");
  expect(t.l2_copy * 1e9, "l2", "copy_bandwidth");
  expect(std::min(t.memory_read, t.memory_waits()) * 1e9, "device_memory", "read_bandwidth");
  expect(t.memory_write * 1e9, "device_memory", "write_bandwidth");
  expect(std::min(t.memory_copy, 2 * t.memory_waits()) * 1e9, "device_memory", "copy_bandwidth");
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

struct AtFullRate {
  double items, lines;
};

// The most items of 4 bytes that each lane may have in a row, and the lines that a warp touches then.
AtFullRate at_full_rate(std::uint64_t limit, std::uint64_t line_bytes) {
  const auto lines_of = [&](std::uint64_t items) {
    return std::min<std::uint64_t>(32, (128 * items + line_bytes - 1) / line_bytes);
  };
  limit = std::max(limit, lines_of(1));
  std::uint64_t items = 1;
  while (items < line_bytes / 4 && lines_of(items + 1) <= limit) ++items;
  return {static_cast<double>(items), static_cast<double>(lines_of(items))};
}

TEST_P(RandomModels, ThresholdsAreExactAndBytesInFlightFollowLittlesLaw) {
  const RandomThroughput& t = truth_;
  const auto read = at_full_rate(t.lines, t.l1_line), written = at_full_rate(t.lines, t.l2_line);
  expect(read.items, "requests", "items_at_full_rate_of_32_bits");
  expect(read.lines, "requests", "lines_at_full_rate_of_32_bits");
  expect(written.items, "requests", "write_items_at_full_rate_of_32_bits");
  expect(written.lines, "requests", "write_lines_at_full_rate_of_32_bits");
  const double scale = t.sms * static_cast<double>(t.clock_khz) / 1e6;
  // Where neither steps of 128 bytes, nor the number of narrow accesses, nor another limit decides.
  const auto needed = [&](double rate, double latency, double accesses, const char* memory) {
    const double bytes = 0.9 * rate * latency;
    if (bytes > 1280 && accesses == 0) expect(bytes, memory, "bytes_in_flight_for_90_percent");
  };
  needed(std::min(t.memory_read, t.memory_waits()) / scale, t.memory_latency, t.gpu_accesses, "device_memory");
  needed(t.l2_read / scale, t.l2_latency, t.gpu_accesses, "l2");
  needed(t.l1_read, t.l1_latency, t.l1_accesses, "l1");
  expect(t.memory_latency, "device_memory", "latency_by_littles_law");
  expect(t.l2_latency, "l2", "latency_by_littles_law");
  if (t.l1_read * t.l1_latency > 256) expect(t.l1_latency, "l1", "latency_by_littles_law");
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomModels, testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace gputopo::throughput
