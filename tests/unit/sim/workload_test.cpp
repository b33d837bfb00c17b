// What passes between a simulated L2 and memory.
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "device/sim/traffic_cache.hpp"

namespace gputopo::sim {
namespace {

using program::MemoryTraffic;
using program::Workload;

TEST(TrafficCache, LoadsBringWhatIsFetchedAtOnceAndOnlyOnce) {
  TrafficCache cache(4096, 128, 32);
  cache.load(0, 64);
  cache.load(32, 64);
  cache.load(64, 64);
  cache.load(1024, 32);
  EXPECT_EQ(cache.take(), (MemoryTraffic{160, 0}));
  cache.flush();
  EXPECT_EQ(cache.take(), (MemoryTraffic{0, 0})) << "nothing was written";
}

TEST(TrafficCache, StoresAreWrittenWhenTheyLeaveAndPartsOfSectorsReadThen) {
  TrafficCache cache(4096, 128, 32);
  cache.store(0, true);
  cache.store(128, false);
  EXPECT_EQ(cache.take(), (MemoryTraffic{0, 0}));
  cache.flush();
  EXPECT_EQ(cache.take(), (MemoryTraffic{32, 64}));
}

TEST(TrafficCache, WhatWasReadBeforeNeedsNoFilling) {
  TrafficCache cache(4096, 128, 32);
  cache.load(0, 32);
  cache.store(0, false);
  cache.flush();
  EXPECT_EQ(cache.take(), (MemoryTraffic{32, 32}));
}

TEST(TrafficCache, HoldsNoMoreThanItsSize) {
  TrafficCache cache(4096, 128, 32);
  for (std::uint64_t at = 0; at < 65536; at += 128) cache.store(at, true);
  const MemoryTraffic before = cache.take();
  cache.flush();
  const MemoryTraffic left = cache.take();
  EXPECT_EQ(before.written + left.written, 512 * 32);
  EXPECT_LE(left.written, 32 * 32);
}

Workload product(std::uint64_t stride, std::uint64_t elements) {
  Workload w;
  w.label = w.kernel = "product";
  w.numbers = {stride, elements};
  w.timed = false;
  return w;
}

TEST(SimulatedWorkloads, AProductAndASweepMoveEveryByte) {
  auto device = make_device(*builtin_model("v100"));
  Workload sweep = product(0, 0);
  sweep.kernel = "sweep";
  sweep.numbers = {1 << 20};
  const auto kernel = device->run_workload(product(16, 1 << 20));
  const auto later = device->run_workload(sweep);
  ASSERT_TRUE(kernel && later);
  // 65536 elements of each vector, each in a sector of its own: 64 B fetched for each factor, 32 for each product.
  EXPECT_EQ(kernel->traffic->read + later->traffic->read, 65536 * (64 + 64 + 32) + (1 << 20));
  EXPECT_EQ(kernel->traffic->written + later->traffic->written, 65536 * 32);
  EXPECT_GT(later->traffic->written, 0) << "some of it waits";
}

// Whatever lines and sectors the caches have, the sectors that stores fill are of one line, and at most 32 of it.
TEST(SimulatedWorkloads, AProductPassesL2sOfAnyLine) {
  for (const auto& [line, sector, first] :
       {std::tuple{16, 16, 32}, {4, 4, 4}, {4096, 4096, 4}, {1 << 20, 1 << 20, 32}}) {
    const std::string described = fmt::format(
        R"({{"schema": "gputopo-model/1", "gpu": {{"name": "Lines", "sm_count": 2, "memory": "1 GiB"}},
             "caches": {{"l1": {{"size": "64 KiB", "line": {0}, "sector": {1}}},
                         "l2": {{"size": "2 MiB", "line": {2}, "sector": {3}, "scope": "gpu"}}}},
             "paths": {{"global_cached": [{{"level": "l1", "latency": 30}}, {{"level": "l2", "latency": 200}},
                                          {{"level": "device_memory", "latency": 500}}]}}}})",
        std::max(first, 32), first, line, sector);
    auto model = parse_model(described, "lines");
    ASSERT_TRUE(model) << model.error().message;
    const auto device = make_device(std::move(*model));
    const auto kernel = device->run_workload(product(1, 65536));
    Workload sweep;
    sweep.label = sweep.kernel = "sweep";
    const auto trace = device->run_workload(sweep);
    ASSERT_TRUE(kernel && trace);
    EXPECT_EQ(kernel->traffic->written + trace->traffic->written, 65536 * 4) << line;
  }
}

TEST(SimulatedWorkloads, WhatNoModelSaysIsUnavailable) {
  auto device = make_device(*builtin_model("v100"));
  Workload w = product(1, 1);
  w.kernel = "barriers";
  const auto trace = device->run_workload(w);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace gputopo::sim
