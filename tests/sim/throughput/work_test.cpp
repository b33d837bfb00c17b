// What workloads tell of a model, against the model: numbers that no built-in one has.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "throughput/registry.hpp"

namespace gputopo::throughput {
namespace {

using Json = nlohmann::json;

std::string text_of(double scale) {
  std::string instructions;
  for (const char* name :
       {"integer_add", "integer_multiply_add", "integer_logic", "integer_shift", "integer_count_bits", "integer_divide",
        "float_add", "float_multiply_add", "float_divide", "half_multiply_add", "double_multiply_add",
        "special_reciprocal_root", "special_exponential", "convert", "shuffle", "tensor_half", "tensor_double"})
    instructions += fmt::format(R"({}"{}": {{"latency": {}, "rate": {}}})", instructions.empty() ? "" : ", ", name,
                                6 * scale, 1.5 / scale);
  return fmt::format(
      R"({{"schema": "gputopo-model/1",
"gpu": {{"name": "Work", "sm_count": 8, "memory": "16 GiB", "clock_khz": 1000000, "compute_capability": "9.0"}},
"groups": {{"gpc": 4, "partition": 4}},
"caches": {{"l1": {{"size": "16 KiB", "line": 128, "sector": 32, "ways": 4}},
            "l2": {{"size": "2 MiB", "line": 128, "sector": 64, "ways": 16, "scope": "gpu"}}}},
"shared": {{"carve_outs": ["228 KiB"], "latency": 20, "block_limit": "227 KiB"}},
"paths": {{"global_cached": [{{"level": "l1", "latency": 30}}, {{"level": "l2", "latency": 200}},
                             {{"level": "device_memory", "latency": 500}}]}},
"throughput": {{"levels": {{"l1": {{"read": 64}}, "shared": {{"read": 128, "write": 128}}, "l2": {{"read": 900}},
                            "device_memory": {{"read": {0}}}}},
  "atomics": {{"global": {{"spread": {1}, "line": 4, "address": 0.5}}, "shared": {{"spread": {2}, "address": 3}}}},
  "instructions": {{{3}}},
  "control": {{"barrier": {4}, "barrier_warp": 1.5, "divergence": {5}, "clock": 2, "timer_ns": 100}},
  "registers": {{"held": 40, "free": 52, "cost": 0.1}},
  "cluster": {{"largest": 8, "own_latency": {6}, "latency": {7}, "own_read": 90, "read": {8}}},
  "sides": {{"near_read": 800, "far_read": {9}, "near_write": 500, "far_write": {10}, "far_cycles": 150}},
  "noise": 0.001}}}})",
      400 * scale, 60 * scale, 20 * scale, instructions, 10 * scale, 25 * scale, 30 * scale, 150 * scale, 20 * scale,
      600 * scale, 250 * scale);
}

Report run_on(double scale, const std::vector<const char*>& names) {
  const auto model = sim::parse_model(text_of(scale), "work");
  EXPECT_TRUE(model) << model.error().message;
  auto device = sim::make_device(*model);
  Options options;
  for (const char* name : names) options.chosen.push_back(find_benchmark(name));
  Topology sizes = sim::truth(*model);
  const auto report = run(*device, sizes, options);
  EXPECT_TRUE(report) << report.error().message;
  return report.value_or(Report{});
}

double value_of(const Report& report, std::string_view quantity) {
  for (const Result& result : report.results)
    for (const Finding& f : result.findings)
      if (f.quantity == quantity && f.estimate.status == Status::measured) return f.estimate.value.value_or(-1);
  ADD_FAILURE() << "nothing of " << quantity;
  return -1;
}

// A discovery of sizes that a benchmark never asks for takes far longer than a simulated one does.
TEST(Benchmarks, OfHistogramsNeedNoSizes) {
  const Benchmark* histogram = find_benchmark("histogram");
  EXPECT_TRUE(histogram->sizes.empty());
  const auto model = sim::parse_model(text_of(1), "work");
  ASSERT_TRUE(model) << model.error().message;
  Options options;
  options.chosen = {histogram};
  std::vector<std::optional<double>> values[2];
  for (const bool has_sizes : {false, true}) {
    auto device = sim::make_device(*model);
    const auto report = run(*device, has_sizes ? sim::truth(*model) : Topology{}, options);
    ASSERT_TRUE(report) << report.error().message;
    for (const Finding& f : report->results.front().findings) values[has_sizes].push_back(f.estimate.value);
  }
  EXPECT_FALSE(values[0].empty());
  EXPECT_EQ(values[0], values[1]);
}

class SimulatedWork : public testing::TestWithParam<double> {};

TEST_P(SimulatedWork, ComesBackWithinAPercent) {
  const double scale = GetParam();
  const Report report = run_on(scale, {"instructions", "clusters", "sides"});
  for (const Result& result : report.results) EXPECT_LE(result.notes.size(), 1U) << result.name;
  const auto expect = [&](std::string_view quantity, double truth) {
    EXPECT_NEAR(value_of(report, quantity), truth, 0.01 * truth) << quantity;
  };
  expect("integer_add_latency", 6 * scale);
  expect("float_multiply_add_rate", 32 * 1.5 / scale);
  expect("tensor_half_rate", 2048 * 1.5 / scale);
  expect("convert_latency", 3 * scale);
  expect("barrier_of_1_warps", 10 * scale + 1.5);
  expect("barrier_of_32_warps", 10 * scale + 48);
  expect("clock_resolution", 2);
  expect("timer_resolution", 100);
  expect("latency_of_own", 30 * scale);
  expect("latency_of_others", 150 * scale);
  expect("read_bandwidth_of_own", 90);
  expect("read_bandwidth_of_others", 20 * scale);
  expect("near_read_bandwidth", 800e9);
  expect("far_read_bandwidth", 600e9 * scale);
  expect("far_write_bandwidth", 250e9 * scale);
  EXPECT_NEAR(value_of(report, "divergence_and_reconvergence"), 25 * scale, 0.01 * 64 * 6 * scale);
}

INSTANTIATE_TEST_SUITE_P(Scales, SimulatedWork, testing::Values(0.7, 1.0, 1.3));

// An L2 that keeps no copies: far lines cost a load at each of its levels.
std::string placement_text(bool sides) {
  Json text = Json::parse(text_of(1));
  text["groups"]["partition"] = {{0, 2, 5, 7}, {1, 3, 4, 6}};
  text["caches"]["l2"]["partitions"] = {{"count", 2}, {"mode", "home"}};
  text["paths"]["global_cached"][1]["far_latency"] = 320;
  text["paths"]["global_cached"][2]["far_latency"] = 750;
  if (!sides) text["throughput"]["sides"]["far_cycles"] = 0;
  return text.dump();
}

Report placement_on(const std::string& text) {
  const auto model = sim::parse_model(text, "placement");
  EXPECT_TRUE(model) << model.error().message;
  auto device = sim::make_device(*model);
  Options options;
  options.chosen = {find_benchmark("placement")};
  const auto report = run(*device, sim::truth(*model), options);
  EXPECT_TRUE(report) << report.error().message;
  return report.value_or(Report{});
}

TEST(SimulatedPlacement, GainsWhatNearLinesTakeLess) {
  const Report report = placement_on(placement_text(true));
  ASSERT_EQ(report.results.size(), 1U);
  std::map<std::string, double> found;
  for (const Finding& f : report.results.front().findings) {
    ASSERT_EQ(f.estimate.status, Status::measured) << f.quantity;
    found[f.memory + "." + f.quantity] = *f.estimate.value;
  }
  const std::map<std::string, double> truth{
      {"l2.near_read_latency", 200},
      {"l2.far_read_latency", 320},
      {"l2.any_read_latency", 260},
      {"l2.read_latency_gain_over_far", 1.6},
      {"l2.read_latency_gain_over_any", 1.3},
      {"l2.atomic_latency_gain_over_far", 1.6},
      {"device_memory.near_read_latency", 500},
      {"device_memory.far_read_latency", 750},
      {"device_memory.read_latency_gain_over_far", 1.5},
      {"l2.near_read_bandwidth", 800e9},
      {"l2.far_read_bandwidth", 600e9},
      {"l2.read_bandwidth_gain_over_far", 800.0 / 600},
      {"l2.write_bandwidth_gain_over_far", 2},
  };
  for (const auto& [name, value] : truth) EXPECT_NEAR(found[name], value, 0.03 * value) << name;
}

TEST(SimulatedPlacement, IsLeftOpenWhereNoLineIsNear) {
  const Report report = placement_on(placement_text(false));
  ASSERT_EQ(report.results.size(), 1U);
  const Result& result = report.results.front();
  EXPECT_FALSE(result.findings.empty());
  for (const Finding& f : result.findings) {
    EXPECT_EQ(f.estimate.status, Status::inconclusive) << f.quantity;
    EXPECT_FALSE(f.estimate.value) << f.quantity;
    EXPECT_EQ(f.estimate.note.substr(0, 4), "none") << f.quantity;
  }
  EXPECT_EQ(result.notes.size(), 1U);
}

TEST(SimulatedSpilling, IsFoundByTheEngineAndByTheCompiler) {
  const Report report = run_on(1, {"spilling"});
  EXPECT_EQ(value_of(report, "items_held_by_the_compiler"), 40);
  EXPECT_EQ(value_of(report, "items_at_full_rate"), 52);
}

TEST(SimulatedHistogram, GainsWhatWasPredicted) {
  const Report report = run_on(1, {"histogram"});
  ASSERT_EQ(report.results.size(), 1U);
  ASSERT_EQ(report.results.front().plots.size(), 1U);
  const auto& series = report.results.front().plots.front().series;
  ASSERT_EQ(series.size(), 4U);
  for (std::size_t i = 0; i < 4; i += 2)
    for (std::size_t step = 0; step < 4; ++step)
      EXPECT_NEAR(series[i].points[step].y, series[i + 1].points[step].y, 0.02 * series[i].points[step].y)
          << series[i].label << ' ' << step;
  for (const Finding& f : report.results.front().findings) EXPECT_EQ(f.estimate.status, Status::measured) << f.quantity;
}

}  // namespace
}  // namespace gputopo::throughput
