// The constant L1.5 past one module's bank.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

sim::Model v100() {
  auto model = sim::builtin_model("v100");
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

// Kernels of several modules never meet, as under a debugger.
class OneAtATime final : public device::Device {
 public:
  explicit OneAtATime(sim::Model model) : device_(sim::make_device(std::move(model))) {}
  const device::DeviceInfo& info() const override { return device_->info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    for (const auto& p : batch)
      if (std::any_of(p.buffers.begin(), p.buffers.end(), [](const auto& b) { return b.module > 0; }))
        return fail(Error::Kind::unavailable, "couldn't place a thread block");
    return device_->run(batch);
  }

 private:
  std::unique_ptr<device::Device> device_;
};

Estimate size_found(device::Device& device) {
  experiments::DiscoverOptions options;
  options.only = {"constant_l1_5"};
  options.extras = false;
  const auto found = experiments::discover(device, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found->find("constant_l1_5")->find("size");
}

TEST(ConstantModules, FindTheSizeToTheLine) {
  const auto device = sim::make_device(v100());
  const Estimate size = size_found(*device);
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(size.value, 128 * 1024);
  EXPECT_EQ(size.method, "modules");
}

TEST(ConstantModules, GiveALowerBoundWhereAllOfThemFit) {
  sim::Model model = v100();
  model.constant_modules = 2;
  const auto device = sim::make_device(std::move(model));
  const Estimate size = size_found(*device);
  EXPECT_EQ(size.status, Status::lower_bound);
  // The last lines may be the kernel's own, and one more misses as rarely as those.
  EXPECT_GE(*size.value, 126 * 1024 - 256);
  EXPECT_LE(*size.value, 128 * 1024);
}

// Lines past the first full set thrash one after the other, while other sets have room still.
TEST(ConstantModules, GiveALowerBoundWhereSetsFillUnevenly) {
  sim::Model model = v100();
  constexpr std::uint64_t line_bytes = 128;
  constexpr std::uint32_t sets = 61, ways = 9;
  const auto cache = std::ranges::find(model.caches, "constant_l1_5", &sim::CacheModel::name);
  ASSERT_NE(cache, model.caches.end());
  cache->size_bytes = sets * ways * line_bytes;
  cache->line_bytes = cache->sector_bytes = line_bytes;
  cache->organisation = {};
  cache->organisation.sets = sets;
  cache->organisation.index = sim::IndexKind::xor_fold;
  const auto device = sim::make_device(std::move(model));
  const Estimate size = size_found(*device);
  EXPECT_EQ(size.status, Status::lower_bound);
  EXPECT_LE(*size.value, sets * ways * line_bytes);
}

TEST(ConstantModules, LeaveTheBoundOfOneBankWhereTheyCannotRunSideBySide) {
  OneAtATime device(v100());
  const Estimate size = size_found(device);
  EXPECT_EQ(size.status, Status::lower_bound);
  EXPECT_EQ(size.value, 64 * 1024);
  EXPECT_THAT(size.note, testing::HasSubstr("can't be walked here: couldn't place a thread block"));
}

// The L1 keeps a fifth of what is looked for: whether the L1.5 has that as well shows once older lines pushed it out.
TEST(ConstantL15, IsCountedToTheLineBehindALargeL1) {
  const auto model = sim::parse_model(R"({
    "schema": "gputopo-model/1", "name": "large_l1",
    "gpu": {"name": "Large L1", "sm_count": 4, "memory": "2 GiB", "clock_khz": 1500000},
    "groups": {"tpc": 2},
    "caches": {
      "constant_l1": {"size": "6 KiB", "line": 128, "sector": 64, "sets": 8, "ways": 6, "replacement": "random"},
      "constant_l1_5": {"size": 32256, "line": 256, "sets": 42, "ways": 3, "index": "hash", "scope": "tpc"},
      "l2": {"size": "4 MiB", "line": 128, "sector": 32, "sets": 2048, "ways": 16}},
    "paths": {
      "global_cached": [{"level": "l2", "latency": 209}, {"level": "device_memory", "latency": 523}],
      "constant": [{"level": "constant_l1", "latency": 30}, {"level": "constant_l1_5", "latency": 70},
                   {"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 510}]},
    "noise": {"jitter": "none", "seed": 5}})",
                                      "large_l1");
  ASSERT_TRUE(model) << model.error().message;
  const auto device = sim::make_device(*model);
  const Estimate size = size_found(*device);
  EXPECT_EQ(size.status, Status::measured) << size.note;
  EXPECT_EQ(size.value, 32256);
}

// A fifth of what the L1.5 serves is as fast as hits of the L1: the rest's mean lies above that of all.
TEST(ConstantLevels, ThatReachIntoEachOtherAreBounds) {
  const auto model = sim::parse_model(R"({
    "schema": "gputopo-model/1", "name": "near",
    "gpu": {"name": "Near", "sm_count": 4, "memory": "2 GiB", "clock_khz": 2118000},
    "groups": {"tpc": 2},
    "caches": {
      "constant_l1": {"size": 2816, "line": 32, "sets": 8, "ways": 11, "index": "hash", "replacement": "random"},
      "constant_l1_5": {"size": "16 KiB", "line": 32, "sets": 16, "ways": 32, "scope": "tpc"},
      "l2": {"size": "128 KiB", "line": 256, "sector": 64, "sets": 64, "ways": 8}},
    "paths": {
      "global_cached": [{"level": "l2", "latency": 209}, {"level": "device_memory", "latency": 523}],
      "constant": [{"level": "constant_l1", "latency": 48}, {"level": "constant_l1_5", "latency": 52.5},
                   {"level": "l2", "latency": 166.5}, {"level": "device_memory", "latency": 480.5}]},
    "noise": {"jitter": "uniform", "cycles": 3, "seed": 7}})",
                                      "near");
  ASSERT_TRUE(model) << model.error().message;
  const auto device = sim::make_device(*model);
  experiments::DiscoverOptions options;
  options.only = {"constant_l1", "constant_l1_5"};
  options.extras = false;
  const auto found = experiments::discover(*device, options);
  ASSERT_TRUE(found) << found.error().message;
  const Estimate& latency = *found->find("constant_l1_5")->find("latency");
  EXPECT_EQ(latency.status, Status::upper_bound) << latency.note;
  EXPECT_GE(*latency.value, 52.5);
  const Estimate& penalty = *found->find("constant_l1")->find("miss_penalty");
  EXPECT_EQ(penalty.status, Status::upper_bound) << penalty.note;
  EXPECT_GE(*penalty.value, 4.5);
}

}  // namespace
}  // namespace gputopo
