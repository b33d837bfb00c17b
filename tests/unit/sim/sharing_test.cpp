// Who shares what: SMs, warps, paths, spaces, partitions.
#include <cmath>
#include <map>

#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

// Eight SMs in pairs and halves; constants and code meet in a cache of the half; no noise.
constexpr std::string_view rich = R"({
  "schema": "gputopo-model/1",
  "gpu": {"name": "Rich", "sm_count": 8, "memory": "4 GiB"},
  "groups": {"tpc": 2, "gpc": [[0, 1, 4, 5], [2, 3, 6, 7]], "partition": {"interleaved": 2}},
  "caches": {
    "l1": {"size": "8 KiB", "line": 128, "sector": 32, "sets": 4},
    "tex": {"size": "4 KiB", "line": 32, "instances": 2, "warp_map": [0, 0, 1, 1]},
    "c1": {"size": "1 KiB", "line": 64},
    "c2": {"size": "16 KiB", "line": 256, "scope": "gpc"},
    "i0": {"size": "2 KiB", "line": 128},
    "l2": {"size": "256 KiB", "line": 128, "sector": 32, "ways": 16, "scope": "gpu"}
  },
  "shared": {"carved_from": "l1", "carve_outs": [0, "2 KiB", "4 KiB"], "latency": 25},
  "paths": {
    "global_cached": [{"level": "l1", "latency": 30}, {"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}],
    "read_only": [{"level": "l1", "latency": 31}, {"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}],
    "texture": [{"level": "l1", "latency": 80, "tag_class": 1}, {"level": "tex", "latency": 120}, {"level": "l2", "latency": 250},
                {"level": "device_memory", "latency": 550}],
    "constant": [{"level": "c1", "latency": 20}, {"level": "c2", "latency": 90}, {"level": "l2", "latency": 220}, {"level": "device_memory", "latency": 520}],
    "instruction": [{"level": "i0", "latency": 0}, {"level": "c2", "latency": 40}, {"level": "l2", "latency": 190}, {"level": "device_memory", "latency": 490}]
  },
  "execution": {"instruction": 16, "cycles_per_instruction": 2, "unit": 256}
})";

program::Walk by_agent(std::uint32_t agent, program::Walk w) {
  w.agent = agent;
  return w;
}

program::Walk in_buffer(std::uint32_t buffer, program::Walk w) {
  w.buffer = buffer;
  return w;
}

class RichDevice : public testing::Test {
 protected:
  std::unique_ptr<device::Device> device_ = make_device(model_of(rich));

  // One warms 12 KiB of constants, the other walks 16 KiB of another module; loads of the first that then pass c2.
  std::uint64_t constants_lost(std::uint32_t first, std::uint32_t second) {
    program::Program p;
    p.buffers = {{program::Space::constant, 12 << 10, 0}, {program::Space::constant, 16 << 10, 1}};
    p.agents = {{first, 0}, {second, 0}};
    p.phases = {by_agent(0, walk(Path::constant, 12 << 10, 256, Record::nothing)),
                by_agent(1, in_buffer(1, walk(Path::constant, 16 << 10, 256, Record::nothing))),
                by_agent(0, walk(Path::constant, 12 << 10, 256, Record::histogram))};
    return above(run_one(*device_, p).phases[2], 90);
  }
};

TEST_F(RichDevice, SmsOfOneGroupShareACacheOthersDoNot) {
  EXPECT_EQ(constants_lost(0, 5), 48U);
  EXPECT_EQ(constants_lost(0, 1), 48U);
  EXPECT_EQ(constants_lost(0, 2), 0U);
  EXPECT_EQ(constants_lost(6, 3), 48U);
}

TEST_F(RichDevice, CodeEvictsConstantsFromTheSharedLevel) {
  const auto lost = [&](std::uint32_t executing_sm, std::uint64_t code_bytes) {
    program::Program p;
    p.buffers = {{program::Space::constant, 12 << 10, 0}};
    p.agents = {{0, 0}, {executing_sm, 0}};
    p.phases = {by_agent(0, walk(Path::constant, 12 << 10, 256, Record::nothing)),
                program::Execute{1, code_bytes, 1, false},
                by_agent(0, walk(Path::constant, 12 << 10, 256, Record::histogram))};
    return above(run_one(*device_, p).phases[2], 90);
  };
  EXPECT_EQ(lost(4, 16 << 10), 48U) << "same half: all of the constants gone";
  EXPECT_EQ(lost(4, 2 << 10), 0U) << "14 of 16 KiB fit together";
  EXPECT_EQ(lost(2, 16 << 10), 0U);
}

TEST_F(RichDevice, CodeTimeShowsTheInstructionCaches) {
  const auto cycles_per_fetch = [&](std::uint64_t bytes) {
    const auto trace =
        run_one(*device_, program_of({program::Execute{0, bytes, 2, false}, program::Execute{0, bytes, 1, true}}, 4));
    return static_cast<double>(trace.phases[1].cycles) / (static_cast<double>(bytes) / 128);
  };
  EXPECT_EQ(cycles_per_fetch(2 << 10), 16) << "8 instructions of 2 cycles";
  EXPECT_EQ(cycles_per_fetch(8 << 10), 16 + 40);
  EXPECT_EQ(cycles_per_fetch(64 << 10), 16 + (190 + 40) / 2.0) << "two fetches to a line of the shared level";
}

TEST_F(RichDevice, ModulesHaveBanksOfTheirOwn) {
  program::Program p;
  p.buffers = {
      {program::Space::constant, 1024, 0}, {program::Space::constant, 1024, 1}, {program::Space::constant, 1024, 0}};
  p.phases = {walk(Path::constant, 1024, 64, Record::nothing),
              in_buffer(2, walk(Path::constant, 1024, 64, Record::histogram)),
              in_buffer(1, walk(Path::constant, 1024, 64, Record::histogram))};
  const auto trace = run_one(*device_, p);
  EXPECT_EQ(above(trace.phases[1], 20), 0U) << "the same module is the same memory";
  EXPECT_EQ(above(trace.phases[2], 20), 16U);
}

TEST_F(RichDevice, PathsOfOneCacheAndClassHitEachOther) {
  const auto trace = run_one(*device_, program_of({walk(Path::global_cached, 4096, 32, Record::nothing),
                                                   walk(Path::read_only, 4096, 32, Record::histogram)},
                                                  4096));
  EXPECT_THAT(trace.phases[1].histogram, testing::ElementsAre(program::LatencyCount{31, 128}));
}

TEST_F(RichDevice, AnotherTagClassEvictsButDoesNotHit) {
  const auto trace = run_one(*device_, program_of({walk(Path::global_cached, 8192, 128, Record::nothing),
                                                   walk(Path::texture, 4096, 128, Record::histogram),
                                                   walk(Path::global_cached, 8192, 128, Record::latencies)},
                                                  8192));
  EXPECT_EQ(above(trace.phases[1], 80), 32U) << "no line of a global load hits for a texture fetch";
  // The 32 texture lines took the place of the 32 oldest; walking on, LRU loses the rest before it gets there.
  EXPECT_THAT(trace.phases[2].latencies, testing::Each(200U));
}

TEST_F(RichDevice, WarpsUseTheInstanceThatTheMapNames) {
  const auto hits = [&](std::uint32_t first, std::uint32_t second) {
    program::Program p = program_of({}, 4096);
    p.agents = {{0, first}, {0, second}};
    p.phases = {by_agent(0, walk(Path::texture, 4096, 32, Record::nothing)),
                by_agent(0, walk(Path::global_cached, 4096, 32, Record::nothing)),
                by_agent(0, in_buffer(1, walk(Path::global_cached, 64 << 10, 128, Record::nothing))),
                by_agent(1, walk(Path::texture, 4096, 32, Record::histogram))};
    p.buffers.push_back({program::Space::global, 64 << 10, 0});
    const auto trace = run_one(*device_, p);
    return trace.phases[3].loads - above(trace.phases[3], 120);
  };
  EXPECT_EQ(hits(0, 0), 128U);
  EXPECT_EQ(hits(0, 1), 128U);
  EXPECT_EQ(hits(0, 4), 128U) << "the map repeats after four warps";
  EXPECT_EQ(hits(0, 2), 0U);
  EXPECT_EQ(hits(7, 3), 128U);
}

TEST_F(RichDevice, CarveOutsTakeFromTheL1AndEmptyIt) {
  const auto misses = [&](std::uint32_t percent, std::uint64_t bytes) {
    auto p = program_of({walk(Path::global_cached, bytes, 128, Record::nothing),
                         walk(Path::global_cached, bytes, 128, Record::histogram)},
                        bytes);
    p.carve_out_percent = percent;
    return above(run_one(*device_, p).phases[1], 30);
  };
  EXPECT_EQ(misses(0, 8192), 0U);
  EXPECT_EQ(misses(50, 8192), 64U);
  EXPECT_EQ(misses(50, 6144), 0U);
  EXPECT_EQ(misses(51, 6144), 48U);
  EXPECT_EQ(misses(100, 4096), 0U);
}

TEST_F(RichDevice, ABlocksNeedOfSharedMemoryOverridesTheRequest) {
  program::Program p;
  p.buffers = {{program::Space::global, 8192, 0}, {program::Space::shared, 3000, 0}};
  p.phases = {
      walk(Path::global_cached, 8192, 128, Record::nothing), walk(Path::global_cached, 4096, 128, Record::nothing),
      walk(Path::global_cached, 4096, 128, Record::histogram), walk(Path::global_cached, 4224, 128, Record::nothing, 2),
      walk(Path::global_cached, 4224, 128, Record::histogram)};
  const auto trace = run_one(*device_, p);
  EXPECT_EQ(above(trace.phases[2], 30), 0U);
  EXPECT_EQ(above(trace.phases[4], 30), 9U) << "4 KiB carved out: a line more than 4 KiB thrashes one set";
}

TEST_F(RichDevice, ProgramsOfABatchSeeTheSameBuffer) {
  const auto cold = program_of({walk(Path::global_l2_only, 64 << 10, 128, Record::histogram)}, 64 << 10);
  const auto traces = device_->run({cold, cold});
  ASSERT_TRUE(traces);
  EXPECT_EQ(above(traces->at(0).phases[0], 200), 512U);
  EXPECT_EQ(above(traces->at(1).phases[0], 200), 0U) << "from another SM: the first one brought it into the L2";
}

std::string partitioned_model(std::string_view mode, std::string_view extra = "") {
  return std::string(R"({
    "schema": "gputopo-model/1",
    "gpu": {"name": "Two", "sm_count": 8, "memory": "1 GiB"},
    "groups": {"tpc": 2, "gpc": 4, "partition": 4},
    "caches": {"l2": {"size": "128 KiB", "line": 128, "ways": 16, "scope": "gpu", "partitions": {"count": 2, "mode": ")") +
         std::string(mode) + R"(", "interleave": "1 KiB"}}},)" + std::string(extra) + R"(
    "paths": {"global_cached": [{"level": "l2", "latency": 200, "far_latency": 400},
                                {"level": "device_memory", "latency": 600, "far_latency": 700}]}
  })";
}

std::map<std::uint32_t, std::uint64_t> second_lap(device::Device& device, std::uint32_t sm, std::uint64_t bytes) {
  auto p = program_of({walk(Path::global_l2_only, bytes, 128, Record::nothing, 2),
                       walk(Path::global_l2_only, bytes, 128, Record::histogram)},
                      bytes);
  p.agents = {{sm, 0}};
  std::map<std::uint32_t, std::uint64_t> counts;
  const auto trace = run_one(device, p);
  for (const auto& bin : trace.phases[1].histogram) counts[bin.latency_cycles] = bin.count;
  return counts;
}

TEST(Partitions, HomeModeIsHalfFarForEverySm) {
  const auto device = make_device(model_of(partitioned_model("home")));
  for (const std::uint32_t sm : {0U, 7U}) {
    const auto counts = second_lap(*device, sm, 128 << 10);
    EXPECT_EQ(counts.at(200), 512U) << sm;
    EXPECT_EQ(counts.at(400), 512U) << sm;
    EXPECT_EQ(counts.size(), 2U);
  }
  const auto beyond = second_lap(*device, 0, 256 << 10);
  EXPECT_EQ(beyond.at(600), 1024U);
  EXPECT_EQ(beyond.at(700), 1024U);
}

TEST(Partitions, HomeModeAnswersOppositelyOnTheTwoSides) {
  const auto device = make_device(model_of(partitioned_model("home")));
  const auto latencies = [&](std::uint32_t sm) {
    auto p = program_of({walk(Path::global_l2_only, 32 << 10, 1024, Record::nothing),
                         walk(Path::global_l2_only, 32 << 10, 1024, Record::latencies)},
                        32 << 10);
    p.agents = {{sm, 0}};
    return run_one(*device, p).phases[1].latencies;
  };
  const auto left = latencies(1);
  const auto right = latencies(6);
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_EQ(left[i] + right[i], 600U) << i;
  EXPECT_EQ(latencies(3), left);
}

TEST(Partitions, NearCopyIsNearUpToAPartitionAndFarUpToTheWhole) {
  const auto device = make_device(model_of(partitioned_model("near_copy")));
  using Counts = std::map<std::uint32_t, std::uint64_t>;
  EXPECT_EQ(second_lap(*device, 0, 64 << 10), (Counts{{200, 512}}));
  EXPECT_EQ(second_lap(*device, 0, 128 << 10), (Counts{{400, 1024}}));
  EXPECT_EQ(second_lap(*device, 7, 64 << 10), (Counts{{200, 512}})) << "the other side has copies of its own";
  EXPECT_EQ(second_lap(*device, 7, 256 << 10).count(400), 0U);
}

double correlation(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  const auto n = static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    sa += a[i], sb += b[i];
    saa += double(a[i]) * a[i], sbb += double(b[i]) * b[i], sab += double(a[i]) * b[i];
  }
  return (n * sab - sa * sb) / std::sqrt((n * saa - sa * sa) * (n * sbb - sb * sb));
}

TEST(Distance, LatencyVectorsAreAlikeAsFarAsSmsAreClose) {
  const auto device = make_device(*builtin_model("h200"));
  const auto vector_of = [&](std::uint32_t sm) {
    auto p = program_of({walk(Path::global_l2_only, 256 << 10, 128, Record::nothing),
                         walk(Path::global_l2_only, 256 << 10, 128, Record::latencies)},
                        256 << 10);
    p.agents = {{sm, 0}};
    return run_one(*device, p).phases[1].latencies;
  };
  const auto self = vector_of(0);
  EXPECT_GT(correlation(self, vector_of(1)), 0.97) << "TPC";
  EXPECT_GT(correlation(self, vector_of(48)), 0.95) << "CPC";
  EXPECT_NEAR(correlation(self, vector_of(32)), 0.87, 0.04) << "GPC";
  EXPECT_NEAR(correlation(self, vector_of(2)), 0.72, 0.06) << "same side";
  EXPECT_LT(correlation(self, vector_of(6)), -0.5) << "other side";
}

}  // namespace
}  // namespace gputopo::sim
