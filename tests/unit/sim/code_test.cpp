// Walks over code: blocks of instructions through the instruction path's caches.
#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

using program::Space;
using ::testing::HasSubstr;

// Two warps of an SM have an L0 each; code and constants meet behind it.
constexpr std::string_view two_warps_model = R"({
  "schema": "gputopo-model/1",
  "gpu": {"name": "Code", "sm_count": 2, "memory": "1 GiB"},
  "caches": {
    "i0": {"size": "2 KiB", "line": 128, "sets": 4, "instances": 2},
    "c1": {"size": "1 KiB", "line": 64},
    "c2": {"size": "16 KiB", "line": 128}
  },
  "paths": {
    "global_cached": [{"level": "device_memory", "latency": 400}],
    "constant": [{"level": "c1", "latency": 20}, {"level": "c2", "latency": 90}, {"level": "device_memory", "latency": 420}],
    "instruction": [{"level": "i0", "latency": 0}, {"level": "c2", "latency": 40}, {"level": "device_memory", "latency": 300}]
  },
  "execution": {"block": 128, "walked": "64 KiB", "between": BETWEEN},
  "clock_overhead": {"default": 0, "instruction": 100}
})";

Model code_model(const std::string& between) {
  std::string model(two_warps_model);
  return model_of(model.replace(model.find("BETWEEN"), 7, between));
}

program::Walk jumps(std::uint64_t bytes, Record record, std::uint32_t agent = 0) {
  program::Walk w = walk(Path::instruction, bytes, 128, record);
  w.agent = agent;
  return w;
}

TEST(Code, TakesWhatTheCacheThatHasItTakesBesidesTheJump) {
  const auto device = make_device(code_model("0"));
  const auto trace = run_one(*device, program_of({jumps(2048, Record::latencies), jumps(2048, Record::latencies),
                                                  jumps(8192, Record::nothing), jumps(2048, Record::latencies)},
                                                 64 << 10, Space::code));
  EXPECT_EQ(trace.phases[0].latencies, std::vector<std::uint32_t>(16, 400));
  EXPECT_EQ(trace.phases[1].latencies, std::vector<std::uint32_t>(16, 100));
  EXPECT_EQ(trace.phases[3].latencies, std::vector<std::uint32_t>(16, 140));
}

TEST(Code, OfAnotherWarpsL0PushesOutNothing) {
  const auto device = make_device(code_model("0"));
  auto p = program_of({jumps(1024, Record::nothing), jumps(8192, Record::nothing, 1), jumps(1024, Record::latencies)},
                      64 << 10, Space::code);
  p.agents = {{0, 0}, {0, 1}};
  std::get<program::Walk>(p.phases[1]).first_byte = 16 << 10;
  EXPECT_EQ(run_one(*device, p).phases[2].latencies, std::vector<std::uint32_t>(8, 100));
  p.agents[1].warp = 2;  // by turns: the first one's instance again
  EXPECT_EQ(run_one(*device, p).phases[2].latencies, std::vector<std::uint32_t>(8, 140));
}

// Units of 128 B, 8 instructions of 2 cycles, and what a fetch of them takes from the cache that has them.
TEST(Code, InARowIsTimedUnitByUnit) {
  const auto device = make_device(code_model("0"));
  const auto p = [](std::uint64_t bytes) {
    return program_of({program::Execute{0, bytes, 2, false}, program::Execute{0, bytes, 3, true}}, 64 << 10,
                      Space::code);
  };
  for (const auto& [bytes, cycles] : {std::pair<std::uint64_t, std::uint32_t>{1024, 16}, {8192, 56}, {32768, 316}}) {
    const auto trace = run_one(*device, p(bytes)).phases[1];
    EXPECT_EQ(trace.latencies, std::vector<std::uint32_t>(3 * bytes / 128, cycles)) << bytes;
    EXPECT_EQ(trace.loads, 3 * bytes / 128);
    EXPECT_EQ(trace.cycles, trace.loads * cycles);
  }
  EXPECT_THAT(device->run({program_of({program::Execute{0, 32768, 65, true}}, 64 << 10, Space::code)}).error().message,
              HasSubstr("times over 16384 units of code"));
}

TEST(Code, ThatRunsBetweenJumpsTakesItsPartOfTheCache) {
  const auto full = program_of({jumps(2048, Record::nothing), jumps(2048, Record::histogram)}, 64 << 10, Space::code);
  const auto fitting =
      program_of({jumps(1536, Record::nothing), jumps(1536, Record::histogram)}, 64 << 10, Space::code);
  const auto device = make_device(code_model("512"));
  EXPECT_GT(above(run_one(*device, full).phases[1], 100), 0U);
  EXPECT_EQ(above(run_one(*device, fitting).phases[1], 100), 0U);
}

TEST(Code, IsRefusedBetweenBlocksAndBeyondWhatThereIs) {
  const auto device = make_device(code_model("0"));
  EXPECT_EQ(device->info().code_bytes, 64U << 10);
  const auto refusal = [&](const program::Program& p) { return device->run({p}).error().message; };
  auto between = jumps(2048, Record::nothing);
  between.first_byte = 64;
  EXPECT_THAT(refusal(program_of({between}, 64 << 10, Space::code)), HasSubstr("no block of code begins"));
  EXPECT_THAT(refusal(program_of({jumps(2048, Record::nothing)}, 128 << 10, Space::code)), HasSubstr("B of code"));
}

// A GPU has no kernel for these either: what only a simulated one could run would be lost there.
TEST(Code, IsRefusedBesideWhatNoKernelHasAsWell) {
  const auto device = make_device(code_model("0"));
  auto p = program_of({jumps(2048, Record::latencies)}, 64 << 10, Space::code);
  p.buffers.push_back({Space::global, 4096, 0});
  auto load = walk(Path::global_cached, 4096, 128, Record::nothing);
  load.buffer = 1;
  for (const program::Phase& other : {program::Phase(load), program::Phase(program::Execute{0, 128})}) {
    auto both = p;
    both.phases.push_back(other);
    const auto refused = device->run({both});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("no kernel has both"));
  }
  EXPECT_TRUE(device->run({p}));
}

}  // namespace
}  // namespace gputopo::sim
