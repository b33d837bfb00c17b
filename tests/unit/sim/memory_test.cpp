// Rows of DRAM, refreshes, ticks, and prefetch that follows a stride, against walks worked out by hand.
#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::string_view rows_and_steps = R"({
  "schema": "gputopo-model/1",
  "gpu": {"name": "Rows", "sm_count": 1, "memory": "1 GiB"},
  "caches": {"l2": {"size": "64 KiB", "line": 128, "scope": "gpu", "ways": 16}},
  "rows": {"size": "1 KiB", "banks": 1, "gain": 40},
  "paths": {"global_cached": [{"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}]}
})";

TEST(SimulatedRows, GainWhileTheyAreOpen) {
  const auto device = make_device(model_of(rows_and_steps));
  const auto trace = run_one(*device, program_of({walk(Path::global_cached, 2048, 256, Record::latencies)}, 8192));
  EXPECT_THAT(trace.phases[0].latencies, ElementsAre(500, 460, 460, 460, 500, 460, 460, 460));
  // What a cache has opens no row: the second one is still open.
  auto third = walk(Path::global_cached, 1024, 256, Record::nothing);
  auto fourth = walk(Path::global_cached, 256, 256, Record::latencies);
  fourth.first_byte = 1024 + 128;
  const auto later = run_one(*device, program_of({third, fourth}, 8192));
  EXPECT_THAT(later.phases[1].latencies, ElementsAre(460));
}

TEST(SimulatedRows, AreOpenedByLoadsThatNobodyTimes) {
  const auto device = make_device(model_of(rows_and_steps));
  auto near = walk(Path::global_cached, 256, 256, Record::latencies);
  near.first_byte = 512;
  const auto trace = run_one(*device, program_of({walk(Path::global_cached, 256, 256, Record::nothing), near}, 8192));
  EXPECT_THAT(trace.phases[1].latencies, ElementsAre(460));
}

TEST(SimulatedRefresh, HoldsUpWhatMemoryServesMeanwhile) {
  std::string text(rows_and_steps);
  text.replace(text.find("\"rows\""), text.find("\"paths\"") - text.find("\"rows\""),
               R"("refresh": {"period": 1200, "busy": 300}, )");
  const auto device = make_device(model_of(text));
  const auto cold = walk(Path::global_cached, 5 * 256, 256, Record::latencies);
  const auto trace = run_one(*device, program_of({cold, cold}, 8192));
  EXPECT_THAT(trace.phases[0].latencies, ElementsAre(500, 500, 700, 500, 700));  // at 0, 500, 1000, 1700, 2200
  EXPECT_THAT(trace.phases[1].latencies, ElementsAre(200, 200, 200, 200, 200));
}

// A wait that goes by what came before: half a tick at a tick itself, as far below that as it lies from the last one.
TEST(SimulatedTick, HoldsUpWhatLeavesAnSmByTheLoadBefore) {
  std::string text(rows_and_steps);
  text.replace(text.find("\"rows\""), text.find("\"paths\"") - text.find("\"rows\""), R"("tick": 30, )");
  const auto device = make_device(model_of(text));
  const auto cold = walk(Path::global_cached, 4 * 256, 256, Record::latencies);
  const auto trace = run_one(*device, program_of({cold, cold}, 8192));
  EXPECT_THAT(trace.phases[0].latencies, ElementsAre(515, 510, 510, 510));  // at 0, 515, 1025, 1535
  EXPECT_THAT(trace.phases[1].latencies, ElementsAre(210, 210, 210, 210));  // at 2045, 2255, ...
}

std::vector<std::uint32_t> cold_steps(std::uint32_t after, std::uint64_t stride) {
  std::string text(rows_and_steps);
  text.replace(text.find("\"rows\""), text.find("\"paths\"") - text.find("\"rows\""), "");
  text.insert(text.find("\"ways\""), "\"prefetch_lines\": 2, \"prefetch_after\": " + std::to_string(after) + ", ");
  const auto device = make_device(model_of(text));
  return run_one(*device, program_of({walk(Path::global_cached, 6 * stride, stride, Record::latencies)}, 8192))
      .phases[0]
      .latencies;
}

TEST(SimulatedPrefetch, FollowsEqualSteps) {
  const std::vector<std::uint32_t> next{500, 200, 200, 500, 200, 200}, steps{500, 500, 500, 200, 200, 500};
  EXPECT_THAT(cold_steps(0, 128), ElementsAreArray(next));
  EXPECT_THAT(cold_steps(0, 512), ElementsAre(500, 500, 500, 500, 500, 500));
  EXPECT_THAT(cold_steps(2, 128), ElementsAreArray(steps));
  EXPECT_THAT(cold_steps(2, 512), ElementsAreArray(steps));
}

}  // namespace
}  // namespace gputopo::sim
