#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_gpu.hpp"
#include "experiments/crosscheck/crosscheck.hpp"
#include "experiments/crosscheck/judge.hpp"

namespace gputopo::experiments {
namespace {

CrossCheckReport report_of(std::vector<std::string> verdicts) {
  CrossCheckReport report;
  for (auto& v : verdicts) report.entries.push_back({"l2", "m", 1, 1, 1, 1, std::move(v)});
  return report;
}

TEST(Report, TheWorstVerdictCounts) {
  EXPECT_EQ(report_of({}).verdict("l2"), "");
  EXPECT_EQ(report_of({"equal", "equal"}).verdict("l2"), "equal");
  EXPECT_EQ(report_of({"equal", "within tolerance", "equal"}).verdict("l2"), "within tolerance");
  EXPECT_EQ(report_of({"within tolerance", "differs", "equal"}).verdict("l2"), "differs");
  EXPECT_EQ(report_of({"differs"}).verdict("l1"), "");
}

TEST(Report, MemoriesWithoutASizeAreNotedNotChecked) {
  Topology topology = sim::truth(quiet_model());
  Estimate& size = topology.find("l1")->attributes["size"];
  size.value.reset();
  size.status = Status::inconclusive;
  CountedGpu gpu(quiet_model());
  DiscoverOptions options;
  options.only = {"l1"};
  const auto report = cross_check(gpu, gpu, topology, options);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->entries.empty());
  EXPECT_THAT(report->notes, ::testing::ElementsAre(::testing::HasSubstr("l1: its size isn't known")));
}

// Two launches of 1000 loads by hand: 40 and 44 sectors above what an empty launch counts, at two sectors a miss.
TEST(Report, WhatAnEmptyLaunchCountsIsSubtractedAndTrafficMayDifferALittle) {
  program::Program p;
  p.buffers = {{program::Space::global, 1 << 20, 0}};
  program::Walk walk;
  walk.footprint_bytes = 128000;
  walk.stride_bytes = 128;
  walk.record = program::Record::histogram;
  p.phases = {walk};
  Subject subject{"l2", {"l2", "loads", "misses"}, 400, {}, 2, 0.005, 0, 128, {}};
  PlannedCheck full{PlannedCheck::Shape::sampled, 128000, 0, {}, {p}, 1, 0, false};
  PlannedCheck empty = full;
  empty.empty = true;
  std::get<program::Walk>(empty.launch[0].phases[0]).loads_per_lap = 1;
  subject.plan = {empty, empty, empty, full, full, full};
  const auto run = [](std::uint64_t hits, std::uint64_t misses, double loads, double sectors) {
    program::ProgramTrace trace;
    trace.phases.resize(1);
    trace.phases[0].histogram = {{300, hits}, {600, misses}};
    return CountedRun{{trace}, {loads, sectors}};
  };
  const std::vector<CountedRun> runs{run(1, 0, 0, 0),        run(0, 1, 101, 32),     run(1, 0, 101, 30),
                                     run(980, 20, 1100, 70), run(980, 20, 1100, 74), run(980, 20, 1099, 90)};
  CrossCheckReport report;
  judge(subject, runs, report);
  ASSERT_EQ(report.entries.size(), 6U);
  EXPECT_EQ(report.entries[0].by_timing, 40);
  EXPECT_EQ(report.entries[0].by_counter, 40);
  EXPECT_EQ(report.entries[0].verdict, verdict_equal);
  EXPECT_EQ(report.entries[1].metric, "loads: loads");
  EXPECT_EQ(report.entries[1].by_counter, 1000);
  EXPECT_EQ(report.entries[2].by_counter, 44);
  EXPECT_EQ(report.entries[2].verdict, verdict_within) << "4 of 2000 sectors";
  EXPECT_EQ(report.entries[4].verdict, verdict_differs) << "20 of 2000 sectors";
  EXPECT_EQ(report.entries[5].by_counter, 999);
  EXPECT_EQ(report.entries[5].verdict, verdict_differs) << "loads have no tolerance";
}

TEST(Report, CodeOfTheWalkItselfMayMissAsOftenAsItHasLines) {
  program::Program p;
  p.buffers = {{program::Space::code, 1 << 20, 0}};
  program::Walk walk;
  walk.path = program::Path::instruction;
  walk.footprint_bytes = 25600;
  walk.stride_bytes = 256;
  walk.laps = 2;
  walk.record = program::Record::histogram;
  p.phases = {walk};
  Subject subject{"instruction_l1_5", {"instruction_l1_5", "", "misses"}, 400, {}, 1, 0, 8, 256, {}};
  PlannedCheck full{PlannedCheck::Shape::recorded, 25600, 0, {}, {p}, 1, 0, false};
  PlannedCheck empty = full;
  empty.empty = true;
  std::get<program::Walk>(empty.launch[0].phases[0]).laps = 1;
  std::get<program::Walk>(empty.launch[0].phases[0]).loads_per_lap = 1;
  subject.plan = {empty, empty, empty, full, full, full};
  const auto run = [](std::uint64_t hits, std::uint64_t misses, double counted) {
    program::ProgramTrace trace;
    trace.phases.resize(1);
    trace.phases[0].histogram = {{300, hits}, {600, misses}};
    return CountedRun{{trace}, {0, counted}};
  };
  CrossCheckReport report;
  judge(subject, {run(1, 0, 0), run(1, 0, 30), run(1, 0, 30), run(180, 20, 50), run(180, 20, 66), run(180, 20, 67)},
        report);
  ASSERT_EQ(report.entries.size(), 3U) << "no loads are counted";
  EXPECT_EQ(report.entries[0].verdict, verdict_equal);
  EXPECT_EQ(report.entries[1].verdict, verdict_within) << "eight a lap";
  EXPECT_EQ(report.entries[2].verdict, verdict_differs);
}

}  // namespace
}  // namespace gputopo::experiments
