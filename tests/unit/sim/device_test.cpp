// What the simulated device reports, against walks worked out by hand.
#include <numeric>

#include <gmock/gmock.h>

#include "program/order.hpp"
#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// L1 of 16 lines in 4 sets, L2 of 1024 lines; no noise; 5 cycles for the clock.
constexpr std::string_view plain = R"({
  "schema": "gputopo-model/1",
  "gpu": {"name": "Plain", "sm_count": 4, "memory": "4 GiB"},
  "caches": {
    "l1": {"size": "2 KiB", "line": 128, "sector": 32, "sets": 4},
    "texture": {"size": "12 KiB", "line": 32, "sets": 4, "ways": 96, "consecutive_lines": 4},
    "l2": {"size": "128 KiB", "line": 128, "sector": 32, "ways": 16, "scope": "gpu"}
  },
  "tlbs": {
    "t1": {"page": "64 KiB", "entries": 4, "miss_penalty": 50},
    "t2": {"page": "64 KiB", "entries": 8, "scope": "gpu", "miss_penalty": 300}
  },
  "shared": {"carve_outs": ["16 KiB"], "latency": 25, "block_reserved": "1 KiB"},
  "clock_overhead": {"default": 5, "shared": 7},
  "limits": {"largest_recording": 1000, "largest_buffer": "1 GiB"},
  "paths": {
    "global_cached": [{"level": "l1", "latency": 30}, {"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}],
    "global_l2_only": [{"level": "l2", "latency": 180, "tlbs": ["t1", "t2"]}, {"level": "device_memory", "latency": 480}],
    "global_no_allocate": true,
    "texture": [{"level": "texture", "latency": 100}, {"level": "l2", "latency": 250}, {"level": "device_memory", "latency": 550}]
  }
})";

class PlainDevice : public testing::Test {
 protected:
  program::ProgramTrace run(std::vector<program::Phase> phases, std::uint64_t bytes) {
    return run_one(*device_, program_of(std::move(phases), bytes));
  }
  std::unique_ptr<device::Device> device_ = make_device(model_of(plain));
};

TEST_F(PlainDevice, AColdWalkMissesOnceASectorAndEveryLevelInTurn) {
  const auto cold = run({walk(Path::global_cached, 128, 4, Record::latencies)}, 128).phases[0].latencies;
  ASSERT_EQ(cold.size(), 32U);
  for (std::size_t i = 0; i < cold.size(); ++i) EXPECT_EQ(cold[i], i % 8 == 0 ? 505U : 35U) << i;
  // The next program starts with an empty L1, and an L2 that still has the sectors.
  const auto again = run({walk(Path::global_cached, 128, 32, Record::latencies)}, 128).phases[0].latencies;
  EXPECT_THAT(again, Each(205U));
}

TEST_F(PlainDevice, LapTimeIsPureAndIndividualTimesCarryTheClock) {
  const auto trace = run(
      {walk(Path::global_cached, 2048, 32, Record::nothing), walk(Path::global_cached, 2048, 32, Record::lap_time, 3),
       walk(Path::global_cached, 2048, 32, Record::histogram, 2)},
      2048);
  EXPECT_EQ(trace.phases[0].loads, 64U);
  EXPECT_EQ(trace.phases[0].cycles, 0U);
  EXPECT_EQ(trace.phases[1].loads, 192U);
  EXPECT_EQ(trace.phases[1].cycles, 192U * 30);
  ASSERT_EQ(trace.phases[2].histogram.size(), 1U);
  EXPECT_EQ(trace.phases[2].histogram[0], (program::LatencyCount{35, 128}));
}

TEST_F(PlainDevice, LatenciesAreThoseOfTheLastLap) {
  const auto trace = run({walk(Path::global_cached, 256, 128, Record::latencies, 2)}, 256);
  EXPECT_THAT(trace.phases[0].latencies, ElementsAre(35, 35));
  EXPECT_EQ(trace.phases[0].loads, 4U);
}

TEST_F(PlainDevice, OneLineTooManyThrashesItsSetAlone) {
  constexpr std::uint64_t bytes = 2176;
  // 17 lines in 4 sets of 4 ways: lines 0, 4, 8, 12, 16 fight for set 0.
  const auto trace = run({walk(Path::global_cached, bytes, 128, Record::nothing, 2),
                          walk(Path::global_cached, bytes, 128, Record::latencies)},
                         bytes);
  for (std::size_t i = 0; i < 17; ++i) EXPECT_EQ(trace.phases[1].latencies[i], i % 4 == 0 ? 205U : 35U) << i;
}

TEST_F(PlainDevice, TextureOfMeiAndChuMissesFourLinesThenHitsTwelve) {
  constexpr std::uint64_t bytes = 12320;
  // Their stage 2-1: 3080 elements of 4 B at a stride of 8 elements, one line over 12 KiB.
  const auto trace = run(
      {walk(Path::texture, bytes, 32, Record::nothing, 2), walk(Path::texture, bytes, 32, Record::latencies)}, bytes);
  const auto& latencies = trace.phases[1].latencies;
  ASSERT_EQ(latencies.size(), 385U);
  for (std::size_t line = 0; line < latencies.size(); ++line)
    EXPECT_EQ(latencies[line], line % 16 < 4 ? 255U : 105U) << line;
}

TEST_F(PlainDevice, ProbesLeaveTheL1Alone) {
  // A full L1, probed far beyond: whatever was resident still is, and what missed was served by the L2.
  const auto trace = run({walk(Path::global_cached, 2048, 32, Record::nothing),
                          walk(Path::global_no_allocate, 8192, 32, Record::latencies),
                          walk(Path::global_no_allocate, 8192, 32, Record::latencies),
                          walk(Path::global_cached, 2048, 32, Record::histogram)},
                         8192);
  for (const std::size_t phase : {1U, 2U}) {
    const auto& latencies = trace.phases[phase].latencies;
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(latencies[i], 35U) << i;
    for (std::size_t i = 64; i < 256; ++i) EXPECT_EQ(latencies[i], phase == 1 ? 505U : 205U) << i;
  }
  EXPECT_EQ(trace.phases[3].histogram[0], (program::LatencyCount{35, 64}));
}

TEST_F(PlainDevice, ResidencyCountsTheL1WhateverWasTouched) {
  for (const std::uint64_t bytes : {4096U, 5000U * 4, 100000U}) {
    const auto trace = run({walk(Path::global_cached, bytes, 32, Record::nothing),
                            walk(Path::global_no_allocate, bytes, 32, Record::histogram)},
                           bytes);
    EXPECT_NEAR(static_cast<double>(trace.phases[1].histogram[0].count) * 32, 2048, 96) << bytes;
    EXPECT_EQ(trace.phases[1].histogram[0].latency_cycles, 35U);
  }
}

TEST_F(PlainDevice, TlbsAddTheirPenaltiesBeyondTheirReach) {
  const auto latency = [&](std::uint64_t pages) {
    const auto trace = run({walk(Path::global_l2_only, pages << 16, 1 << 16, Record::nothing, 2),
                            walk(Path::global_l2_only, pages << 16, 1 << 16, Record::lap_time)},
                           pages << 16);
    return static_cast<double>(trace.phases[1].cycles) / static_cast<double>(pages);
  };
  EXPECT_EQ(latency(4), 180);
  EXPECT_EQ(latency(5), 180 + 50) << "LRU: one page too many misses always";
  EXPECT_EQ(latency(8), 180 + 50);
  EXPECT_EQ(latency(9), 180 + 50 + 300);
}

TEST_F(PlainDevice, SharedMemoryNeverMisses) {
  auto p = program_of({walk(Path::shared, 8192, 4, Record::lap_time), walk(Path::shared, 64, 4, Record::latencies)},
                      8192, program::Space::shared);
  const auto trace = run_one(*device_, p);
  EXPECT_EQ(trace.phases[0].cycles, 2048U * 25);
  EXPECT_THAT(trace.phases[1].latencies, Each(32U));
}

TEST_F(PlainDevice, OrdersVisitTheSamePositions) {
  for (const program::Order order : {program::Order::reverse, program::Order::shuffled}) {
    program::Walk cold = walk(Path::global_cached, 2048, 32, Record::histogram);
    cold.order = order;
    cold.order_seed = 99;
    const auto trace = run({cold, walk(Path::global_cached, 2048, 32, Record::histogram)}, 2048);
    EXPECT_EQ(above(trace.phases[1], 35), 0U) << "every sector was brought in";
    EXPECT_EQ(trace.phases[0].loads, 64U);
    EXPECT_EQ(above(trace.phases[0], 35), 64U);
  }
}

TEST_F(PlainDevice, ASampleTakesTheFirstLoadsOfTheOrder) {
  program::Walk sample = walk(Path::global_cached, 2048, 128, Record::nothing);
  sample.loads_per_lap = 3;
  const auto trace = run({sample, walk(Path::global_cached, 2048, 128, Record::latencies)}, 2048);
  EXPECT_EQ(trace.phases[0].loads, 3U);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(trace.phases[1].latencies[i] == 35U, i < 3) << i;
}

TEST_F(PlainDevice, ProgramsWithoutAnSmGoRoundFromSmZero) {
  const auto p = program_of({walk(Path::global_cached, 128, 32, Record::nothing)}, 128);
  auto fixed = p;
  fixed.agents = {{3, 0}};
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto traces = device_->run({p, p, fixed, p, p, p});
    ASSERT_TRUE(traces);
    std::vector<std::uint32_t> sms;
    for (const auto& t : *traces) sms.push_back(t.agent_sms.at(0));
    EXPECT_THAT(sms, ElementsAre(0, 1, 3, 2, 3, 0));
  }
}

TEST_F(PlainDevice, RefusesWhatTheGpuCannotDo) {
  const auto error = [&](const program::Program& p) {
    const auto traces = device_->run({p});
    return traces ? Error{Error::Kind::bad_input, ""} : traces.error();
  };
  const auto ok = program_of({walk(Path::global_cached, 128, 32, Record::nothing)}, 128);
  EXPECT_EQ(error(ok).message, "");
  auto p = ok;
  p.agents = {{4, 0}};
  EXPECT_THAT(error(p).message, HasSubstr("SM 4"));
  p = ok;
  p.agents = {{0, 32}};
  EXPECT_THAT(error(p).message, HasSubstr("warp 32"));
  p = ok;
  p.buffers[0].size_bytes = (1ULL << 30) + 4;
  EXPECT_THAT(error(p).message, HasSubstr("limit"));
  p = ok;
  p.phases = {walk(Path::global_cached, 1ULL << 20, 4, Record::nothing)};
  EXPECT_EQ(error(p).kind, Error::Kind::bad_input) << "walks outside its buffer";
  EXPECT_EQ(error(program_of({walk(Path::read_only, 128, 32, Record::nothing)}, 128)).kind, Error::Kind::unavailable);
  EXPECT_EQ(error(program_of({walk(Path::constant, 128, 32, Record::nothing)}, 128, program::Space::constant)).kind,
            Error::Kind::unavailable);
  EXPECT_EQ(error(program_of({program::Execute{0, 1024, 1, true}}, 128)).kind, Error::Kind::unavailable);
  EXPECT_THAT(error(program_of({walk(Path::global_cached, 8192, 4, Record::latencies)}, 8192)).message,
              HasSubstr("records"));
  EXPECT_THAT(
      error(program_of({walk(Path::shared, 128, 4, Record::nothing)}, 16 << 10, program::Space::shared)).message,
      HasSubstr("shared memory"));
}

TEST(SimDevice, InfoSaysWhatTheModelSays) {
  const auto device = make_device(*builtin_model("h200"));
  const device::DeviceInfo& info = device->info();
  EXPECT_EQ(info.kind, "sim");
  EXPECT_TRUE(info.simulated);
  EXPECT_EQ(info.gpu.sm_count, 132U);
  EXPECT_EQ(info.l2_bytes, 60U << 20);
  EXPECT_EQ(info.shared_bytes_per_sm, 228U << 10);
  EXPECT_EQ(info.shared_bytes_per_block, 227U << 10);
  EXPECT_TRUE(info.has_no_allocate && info.has_read_only && info.has_execute);
  EXPECT_EQ(info.gpu.uuid.size(), 40U);
  EXPECT_NE(info.gpu.uuid, make_device(*builtin_model("a100"))->info().gpu.uuid);
  const auto old = make_device(*builtin_model("gt200"));
  EXPECT_FALSE(old->info().has_no_allocate || old->info().has_read_only);
  EXPECT_EQ(old->info().texture_elements, 0U);
}

// Noise and random replacement, on several GPUs: one number that every compiler and machine must get.
std::uint64_t fingerprint(device::Device& device) {
  std::uint64_t h = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto trace = run_one(device, program_of({walk(Path::global_cached, 20 << 10, 32, Record::lap_time, 2),
                                                   walk(Path::global_cached, 20 << 10, 128, Record::latencies),
                                                   walk(Path::global_l2_only, 20 << 10, 32, Record::histogram)},
                                                  20 << 10));
    for (const auto& phase : trace.phases) {
      h = h * 1099511628211ULL + phase.cycles;
      for (const std::uint32_t latency : phase.latencies) h = h * 1099511628211ULL + latency;
      for (const auto& bin : phase.histogram) h = (h * 1099511628211ULL + bin.latency_cycles) * 31 + bin.count;
    }
  }
  return h;
}

constexpr std::string_view noisy = R"({
  "schema": "gputopo-model/1",
  "gpu": {"name": "Noisy", "sm_count": 2, "memory": "1 GiB"},
  "caches": {
    "l1": {"size": "18 KiB", "line": 128, "sector": 32, "sets": 6, "replacement": "random", "index": "hash"},
    "l2": {"size": "128 KiB", "line": 128, "sector": 32, "ways": 16, "scope": "gpu", "replacement": "tree_plru"}
  },
  "distance": {"sm": 12.5},
  "noise": {"jitter": "gaussian", "cycles": 3.5, "outlier_probability": 0.01, "outlier_cycles": 300, "seed": 77},
  "paths": {"global_cached": [{"level": "l1", "latency": 30.25}, {"level": "l2", "latency": 200},
                              {"level": "device_memory", "latency": 500}]}
})";

TEST(SimDevice, TheSameSequenceGivesTheSameBitsEverywhere) {
  const Model model = model_of(noisy);
  EXPECT_EQ(fingerprint(*make_device(model)), fingerprint(*make_device(model)));
  EXPECT_EQ(fingerprint(*make_device(model)), 5021791594973420940U);
}

TEST(SimDevice, RepeatedRunsDifferInNoise) {
  const auto device = make_device(model_of(noisy));
  const auto p = program_of({walk(Path::global_cached, 4096, 32, Record::latencies)}, 4096);
  EXPECT_NE(run_one(*device, p), run_one(*device, p));
}

TEST(SimDevice, AnotherSeedGivesOtherNoise) {
  Model model = model_of(noisy);
  const auto before = fingerprint(*make_device(model));
  model.noise.seed = 78;
  EXPECT_NE(fingerprint(*make_device(model)), before);
}

}  // namespace
}  // namespace gputopo::sim
