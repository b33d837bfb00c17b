// Who else uses the GPU: time slices, tenants, strangers and a clock that changes, worked out by hand.
#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

// L1 of 64 lines, L2 of 4096 lines, 1 GHz: a cycle is a nanosecond. No noise.
Model plain_model() {
  return model_of(R"({
    "schema": "gputopo-model/1",
    "gpu": {"name": "Plain", "sm_count": 4, "memory": "1 GiB", "clock_khz": 1000000},
    "caches": {"l1": {"size": "8 KiB", "line": 128},
               "l2": {"size": "512 KiB", "line": 128, "ways": 16, "scope": "gpu"}},
    "paths": {"global_cached": [{"level": "l1", "latency": 50}, {"level": "l2", "latency": 200},
                                {"level": "device_memory", "latency": 500}]}
  })");
}

program::Program laps(Path path, std::uint64_t bytes, std::uint32_t count, Record record) {
  return program_of({walk(path, bytes, 128, Record::nothing), walk(path, bytes, 128, record, count)}, bytes);
}

TEST(Neighbour, TakesTheGpuAwayAndEmptiesPrivateCaches) {
  Model model = plain_model();
  model.neighbour = NeighbourModel{{2000, 2000}, {1000, 1000}, 0};
  const auto device = make_device(model);
  // 64 loads of 500 ns, then 2000 laps of 64 x 50 ns = 6.4 ms: three gaps of 1 ms.
  const auto trace = run_one(*device, laps(Path::global_cached, 8192, 2000, Record::histogram));
  EXPECT_EQ(trace.interruptions.switches, 3U);
  EXPECT_EQ(trace.interruptions.away_ns, 3000000U);
  EXPECT_DOUBLE_EQ(trace.interruptions.cycles_per_ns, 1);
  // Each gap falls into one load, and after it the L1's 64 lines come from the L2 again.
  EXPECT_EQ(above(trace.phases[1], 1000000), 3U);
  EXPECT_NEAR(static_cast<double>(above(trace.phases[1], 60)), 3 * 64, 4);
}

TEST(Neighbour, LengthensALapByTheTimeItWasAway) {
  Model model = plain_model();
  model.neighbour = NeighbourModel{{2000, 2000}, {1000, 1000}, 0};
  const auto trace = run_one(*make_device(model), laps(Path::global_cached, 8192, 1000, Record::lap_times));
  const auto& cycles = trace.phases[1].lap_cycles;
  ASSERT_EQ(cycles.size(), 1000U);
  EXPECT_EQ(std::count_if(cycles.begin(), cycles.end(), [](std::uint64_t c) { return c > 1000000; }), 1);
  EXPECT_EQ(std::count(cycles.begin(), cycles.end(), 64U * 50), 998) << "all but the lap of the gap and the next one";
}

TEST(Neighbour, FillsTheStatedShareOfTheL2) {
  const auto misses = [](double share) {
    Model model = plain_model();
    model.neighbour = NeighbourModel{{2500, 2500}, {1000, 1000}, share};
    // A whole L2 is read by 2.058 ms, and a second time from then on: across one switch, whose lines push the oldest
    // out, which are those to be read next.
    const auto trace = run_one(*make_device(model), laps(Path::global_l2_only, 512 << 10, 1, Record::histogram));
    EXPECT_EQ(trace.interruptions.switches, 1U) << share;
    return above(trace.phases[1], 300) - 1;  // but for the load that was interrupted
  };
  EXPECT_EQ(misses(0), 0U);
  EXPECT_GT(misses(0.1), 400U);
  EXPECT_NEAR(static_cast<double>(misses(1)), 4096 - (2500 - 2058) * 1000 / 200, 2);
}

TEST(Neighbour, LeavesShortProgramsAloneAndDelaysLaunchesUnseen) {
  Model model = plain_model();
  model.neighbour = NeighbourModel{{1900, 2100}, {1000, 1000}, 0};
  const auto device = make_device(model);
  std::uint32_t switches = 0;
  std::uint64_t slow = 0;
  // 16 us each and 10 us apart: in 10 ms some meet a gap, none sees one that it waited for.
  for (int i = 0; i < 400; ++i) {
    const auto trace = run_one(*device, laps(Path::global_cached, 8192, 1, Record::histogram));
    switches += trace.interruptions.switches;
    slow += above(trace.phases[1], 1000000);
  }
  EXPECT_GE(switches, 1U);
  EXPECT_LE(switches, 5U);
  EXPECT_LE(slow, switches);
}

TEST(Neighbour, MeetsProgramsOfABatchAtOnce) {
  Model model = plain_model();
  model.neighbour = NeighbourModel{{2000, 2000}, {1000, 1000}, 0};
  const auto p = laps(Path::global_cached, 8192, 500, Record::histogram);  // 1.6 ms
  const auto switches = [&](const program::Batch& batch) {
    const auto traces = make_device(model)->run(batch);
    std::uint32_t sum = 0;
    for (const auto& trace : *traces) sum += trace.interruptions.switches;
    return sum;
  };
  EXPECT_EQ(switches({p, p, p, p}), 0U) << "four SMs side by side";
  auto alone = p;
  alone.isolation = Scope::gpu;
  EXPECT_EQ(switches({alone, alone, alone, alone}), 3U) << "one after another";
}

TEST(Neighbour, TheSameSeedGivesTheSameTraces) {
  Model model = plain_model();
  model.neighbour = NeighbourModel{{1990, 2020}, {640, 2600}, 0.5};
  const auto p = laps(Path::global_cached, 8192, 3000, Record::lap_times);
  EXPECT_EQ(run_one(*make_device(model), p), run_one(*make_device(model), p));
  Model other = model;
  other.noise.seed = 2;
  EXPECT_NE(run_one(*make_device(model), p).interruptions, run_one(*make_device(other), p).interruptions);
}

TEST(Tenant, EvictsAtItsRateWithoutAnInterruption) {
  Model model = plain_model();
  model.tenant = TenantModel{1, 0, {}, 0, {}};
  // 1024 lines of 4096 read in laps of 205 us: each brings some 205 strangers, which take the least recent lines' place
  // one set after another.
  const auto trace = run_one(*make_device(model), laps(Path::global_l2_only, 128 << 10, 50, Record::histogram));
  EXPECT_EQ(trace.interruptions.switches, 0U);
  EXPECT_EQ(trace.interruptions.away_ns, 0U);
  const auto quiet = run_one(*make_device(plain_model()), laps(Path::global_l2_only, 128 << 10, 50, Record::histogram));
  EXPECT_EQ(above(quiet.phases[1], 300), 0U);
  model.tenant->lines_per_us = 20;
  const auto busy = run_one(*make_device(model), laps(Path::global_l2_only, 128 << 10, 50, Record::histogram));
  EXPECT_GT(above(busy.phases[1], 300), above(trace.phases[1], 300));
  EXPECT_GT(above(busy.phases[1], 300), 1000U);
}

TEST(Tenant, UsesTheL1OfTheSmsThatItRunsOnAlone) {
  Model model = plain_model();
  model.tenant = TenantModel{0, 1, {1}, 0, {}};
  const auto device = make_device(model);
  const auto misses = [&](std::uint32_t sm) {
    auto p = laps(Path::global_cached, 8192, 50, Record::histogram);
    p.agents = {{sm, 0}};
    return above(run_one(*device, p).phases[1], 60);
  };
  EXPECT_EQ(misses(0), 0U);
  EXPECT_GT(misses(1), 100U);
}

TEST(Tenant, LetsTheStatedShareOfLoadsThatLeaveTheSmWait) {
  Model model = plain_model();
  model.tenant = TenantModel{0, 0, {}, 0.25, {40, 60}};
  const auto device = make_device(model);
  const auto l2 = run_one(*device, laps(Path::global_l2_only, 64 << 10, 20, Record::histogram)).phases[1];
  EXPECT_NEAR(static_cast<double>(above(l2, 200)) / static_cast<double>(l2.loads), 0.25, 0.02);
  EXPECT_EQ(above(l2, 260), 0U);
  const auto l1 = run_one(*device, laps(Path::global_cached, 8192, 20, Record::histogram)).phases[1];
  EXPECT_EQ(above(l1, 50), 0U);
}

TEST(Clock, ADropShortensLatenciesBeyondTheSmInItsCycles) {
  Model model = plain_model();
  model.clock_steps = {{1000, 500000}};
  const auto device = make_device(model);
  // Five laps of 512 x 200 ns end before the drop, later ones take 100 cycles of 2 ns a load.
  const auto trace = run_one(*device, laps(Path::global_l2_only, 64 << 10, 20, Record::lap_times));
  EXPECT_EQ(trace.phases[1].lap_cycles.front(), 512U * 200);
  EXPECT_EQ(trace.phases[1].lap_cycles.back(), 512U * 100);
  EXPECT_EQ(trace.interruptions.switches, 0U);
  EXPECT_LT(trace.interruptions.cycles_per_ns, 0.9);
  EXPECT_GT(trace.interruptions.cycles_per_ns, 0.5);
  const auto after = run_one(*device, laps(Path::global_cached, 8192, 5, Record::lap_times));
  EXPECT_DOUBLE_EQ(after.interruptions.cycles_per_ns, 0.5);
  EXPECT_EQ(after.phases[1].lap_cycles.back(), 64U * 50) << "what the SM does by itself takes its cycles";
}

TEST(Strangers, AreInLapTimesAsInSingleLatencies) {
  Model model = plain_model();
  model.noise.outlier_probability = 0.05;
  model.noise.outlier_cycles = {100, 300};
  const auto device = make_device(model);
  const auto single = run_one(*device, laps(Path::global_cached, 8192, 500, Record::histogram)).phases[1];
  EXPECT_NEAR(static_cast<double>(above(single, 60)) / static_cast<double>(single.loads), 0.05, 0.01);
  EXPECT_LE(single.histogram.back().latency_cycles, 350U);
  const auto lap = run_one(*device, laps(Path::global_cached, 8192, 500, Record::lap_times)).phases[1].lap_cycles;
  const double mean = std::accumulate(lap.begin(), lap.end(), 0.0) / 500 / 64;
  EXPECT_NEAR(mean, 50 + 0.05 * 200, 1);
}

TEST(Remarks, SayWhatDisturbs) {
  Model model = plain_model();
  model.neighbour = NeighbourModel{{2000, 2000}, {640, 2600}, 0.5};
  model.tenant = TenantModel{100, 0, {}, 0.25, {40, 60}};
  model.clock_steps = {{1000, 500000}};
  model.noise.outlier_probability = 0.012;
  model.noise.outlier_cycles = {300, 300};
  EXPECT_THAT(
      remarks(model),
      testing::ElementsAre("strangers: 1.2 % of the loads take 300 cycles more",
                           "neighbour: away for 640 to 2600 us after every 2000 us; fills 50 % of the L2 meanwhile",
                           testing::HasSubstr("tenant: brings 100 lines"), "clock: 500000 kHz from 1000 us on"));
}

}  // namespace
}  // namespace gputopo::sim
