// Simulated streams: every scarce thing by itself, against arithmetic done by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"

namespace gputopo::sim {
namespace {

using program::Arrangement;
using program::Operation;
using program::Path;
using program::Region;
using program::Stream;
using testing::HasSubstr;

constexpr const char* text = R"({"schema": "gputopo-model/1",
  "gpu": {"name": "Streams", "sm_count": 4, "memory": "4 GiB", "clock_khz": 1000000},
  "caches": {"l1": {"size": "16 KiB", "line": 128, "sector": 32, "ways": 4},
             "l2": {"size": "1 MiB", "line": 128, "sector": 32, "ways": 16, "scope": "gpu"}},
  "shared": {"carve_outs": ["48 KiB"], "latency": 20},
  "paths": {"global_cached": [{"level": "l1", "latency": 30}, {"level": "l2", "latency": 200},
                              {"level": "device_memory", "latency": 500}]},
  "throughput": {
    "levels": {"l1": {"read": 64}, "l2": {"read": 100, "write": 50, "read_same": 160},
               "device_memory": {"read": 40, "write": 30, "copy": 35}, "shared": {"read": 128, "write": 64}},
    "banks": {"count": 32, "bytes": 4, "conflict": 2},
    "requests": {"lines": 4},
    "atomics": {"global": {"spread": 64, "line": 2, "address": 1}}}})";

class SimStream : public testing::Test {
 protected:
  program::StreamTrace run(const Stream& s) {
    auto device = make_device(*parse_model(text, "streams"));
    auto trace = device->run_stream(s);
    if (!trace) ADD_FAILURE() << trace.error().message;
    return trace.value_or(program::StreamTrace{});
  }
  static Stream reading(std::uint64_t footprint, Region region) {
    Stream s;
    s.access_bytes = 16;
    s.items = s.unroll = 4;
    s.threads = 1024;
    s.blocks = 4;
    s.laps = 100;
    s.region = region;
    return program::fitted(s, footprint);
  }
  static double bytes_per_cycle(const program::StreamTrace& t) {
    return static_cast<double>(t.bytes) / static_cast<double>(t.cycles);
  }
};

TEST_F(SimStream, BytesOverRate) {
  Stream l1 = reading(1, Region::block);
  l1.threads = 256;  // 16 KiB a block: all of the L1
  l1 = program::fitted(l1, 16384);
  EXPECT_NEAR(bytes_per_cycle(run(l1)), 4 * 64, 0.01);
  EXPECT_EQ(run(l1).sms, 4U);
  EXPECT_NEAR(bytes_per_cycle(run(reading(1, Region::block))), 100, 0.01) << "64 KiB an SM: more than its L1";
  EXPECT_NEAR(bytes_per_cycle(run(reading(512 << 10, Region::grid))), 100, 0.01);
  EXPECT_NEAR(bytes_per_cycle(run(reading(512 << 10, Region::all))), 160, 0.01);
  EXPECT_NEAR(bytes_per_cycle(run(reading(512 << 10, Region::together))), 160, 0.01);
  EXPECT_NEAR(bytes_per_cycle(run(reading(64 << 20, Region::grid))), 40, 0.01);
  Stream write = reading(512 << 10, Region::grid);
  write.operation = Operation::write;
  EXPECT_NEAR(bytes_per_cycle(run(write)), 50, 0.01);
  Stream copy = reading(64 << 20, Region::grid);
  copy.operation = Operation::copy;
  EXPECT_NEAR(bytes_per_cycle(run(copy)), 35, 0.01);
}

TEST_F(SimStream, LittlesLawWhereFewBytesAreInFlight) {
  Stream s = reading(64 << 20, Region::grid);
  s.access_bytes = 4;
  s.items = s.unroll = 1;
  s.threads = 32;
  s = program::fitted(s, 64 << 20);
  EXPECT_NEAR(bytes_per_cycle(run(s)), 4 * 128.0 / 500, 1e-4);  // 128 B every 500 cycles on each SM
}

TEST_F(SimStream, EveryTurnOfABankCostsTwoCyclesMore) {
  Stream s;
  s.path = Path::shared;
  s.region = Region::block;
  s.arrangement = Arrangement::fixed;
  s.footprint_bytes = 8192;
  s.threads = 1024;
  s.blocks = 4;
  s.items = s.unroll = 8;
  s.laps = 1000;
  for (const std::uint32_t ways : {1U, 2U, 5U, 32U}) {
    s.lane_group = ways;
    s.lane_stride_bytes = 128;
    s.group_stride_bytes = 4;
    const auto t = run(s);
    EXPECT_NEAR(static_cast<double>(t.cycles) * 4 / static_cast<double>(t.accesses), 1 + 2.0 * (ways - 1), 1e-3)
        << ways;
  }
}

TEST_F(SimStream, AccessesOfTooManyLinesSlowDown) {
  for (const std::uint32_t items : {2U, 4U, 8U, 16U}) {
    Stream s = reading(1, Region::grid);
    s.access_bytes = 4;
    s.arrangement = Arrangement::direct;
    s.items = items;
    s.unroll = std::min(items, 8U);
    s = program::fitted(s, 64 << 20);
    EXPECT_NEAR(bytes_per_cycle(run(s)), 40 * std::min(1.0, 4.0 / items), 0.01) << items;
  }
}

TEST_F(SimStream, AdditionsToOneAddressTakeTurns) {
  Stream s;
  s.operation = Operation::add;
  s.arrangement = Arrangement::fixed;
  s.footprint_bytes = 4096;
  s.threads = 32;
  s.blocks = 4;
  s.laps = 1000;
  EXPECT_EQ(run(s).cycles, 4U * 32 * 1000) << "one address";
  s.lane_stride_bytes = 4;
  EXPECT_EQ(run(s).cycles, 4U * 32 * 1000 / 2) << "one line";
  s.lane_stride_bytes = 128;
  EXPECT_EQ(run(s).cycles, 4U * 1000) << "each lane its own line, shared by four blocks: the address is scarce";
}

TEST_F(SimStream, WhatTheModelDoesntSayIsAnErrorInOneLine) {
  auto device = make_device(*builtin_model("fermi"));
  const auto trace = device->run_stream(reading(64 << 20, Region::grid));
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("no throughput in this model"));
  EXPECT_EQ(trace.error().kind, Error::Kind::unavailable);
  auto other = make_device(*parse_model(text, "streams"));
  Stream fetch;
  fetch.operation = Operation::fetch_add;
  fetch.arrangement = Arrangement::fixed;
  fetch.footprint_bytes = 4;
  const auto missing = other->run_stream(fetch);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("atomics on"));
}

TEST_F(SimStream, ModelsThatContradictThemselvesAreRefused) {
  std::string wrong = text;
  const auto replace = [](std::string in, const std::string& from, const std::string& to) {
    return in.replace(in.find(from), from.size(), to);
  };
  const auto refusal = [](const std::string& model) {
    const auto parsed = parse_model(model, "m");
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_THAT(refusal(replace(wrong, "\"shared\": {\"read\": 128", "\"shared\": {\"read\": 129")),
              HasSubstr("its banks hold"));
  EXPECT_THAT(refusal(replace(wrong, ", \"clock_khz\": 1000000", "")), HasSubstr("/gpu/clock_khz"));
  EXPECT_THAT(refusal(replace(wrong, "\"count\": 32", "\"count\": 33")), HasSubstr("power of two"));
  EXPECT_THAT(refusal(replace(wrong, "{\"read\": 64}", "{\"write\": 64}")), HasSubstr("read"));
}

}  // namespace
}  // namespace gputopo::sim
