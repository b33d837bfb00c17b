// What is said of sizes that timing and counters give by themselves.
#include "experiments/crosscheck/judge.hpp"

#include <gtest/gtest.h>

namespace gputopo::experiments {
namespace {

struct CodeRow {
  std::uint64_t footprint_bytes, warm, timed, counted;  // misses while it warms, and in all
};

constexpr std::uint64_t block_bytes = 256;
constexpr std::uint32_t warm_laps = 2, recorded_laps = 3;

program::Walk code_walk(const CodeRow& row, std::uint32_t laps) {
  program::Walk walk;
  walk.footprint_bytes = row.footprint_bytes;
  walk.stride_bytes = block_bytes;
  walk.laps = laps;
  walk.record = program::Record::histogram;
  return walk;
}

program::PhaseTrace code_trace(const program::Walk& walk, std::uint64_t misses) {
  program::PhaseTrace trace;
  trace.histogram = {{50, program::lap_loads(walk) * walk.laps - misses}, {150, misses}};
  return trace;
}

// Two readings of one curve: what the last entry says of the change points.
CrossCheck change_points(const std::vector<CodeRow>& rows) {
  Subject subject;
  subject.memory = "instruction_l1_5";
  subject.metrics.misses = "misses";
  subject.threshold_cycles = 100;
  subject.own_misses_a_lap = 16;
  subject.line_bytes = block_bytes;
  std::vector<CountedRun> runs;
  for (const CodeRow& row : rows) {
    const program::Walk warm = code_walk(row, warm_laps), recorded = code_walk(row, recorded_laps);
    program::Program p;
    p.phases = {warm, recorded};
    subject.plan.push_back({PlannedCheck::Shape::recorded, row.footprint_bytes, 0, {}, {p}, 1, 1, false});
    program::ProgramTrace trace;
    trace.phases = {code_trace(warm, row.warm), code_trace(recorded, row.timed - row.warm)};
    runs.push_back({{trace}, {0, static_cast<double>(row.counted)}});
  }
  CrossCheckReport report;
  judge(subject, runs, report);
  return report.entries.back();
}

// As an H200 gave them (but for how many of the misses came while it warmed, which nothing printed): its kernel's own
// code pushes some blocks out below the size, by where it lies, and each reading sees where that begins by itself.
const std::vector<CodeRow> beside_own_code{
    {32 << 10, 0, 0, 1},          {64 << 10, 2, 14, 17},         {96 << 10, 20, 50, 53},
    {112 << 10, 143, 359, 370},   {130816, 475, 1187, 1218},     {128 << 10, 462, 1155, 1182},
    {131328, 472, 1182, 1203},    {131584, 480, 1201, 1223},     {129 << 10, 497, 1242, 1269},
    {130 << 10, 566, 1414, 1438}, {160 << 10, 1234, 3086, 3122}, {192 << 10, 1523, 3809, 3842},
    {240 << 10, 1906, 4764, 4803}};

TEST(ChangePoints, OfWhichSomeSizeIsPossibleByBothDontDiffer) {
  const CrossCheck found = change_points(beside_own_code);
  EXPECT_EQ(found.metric, "change point: misses");
  EXPECT_NE(found.by_timing, found.by_counter) << "this curve was kept since they aren't equal";
  EXPECT_EQ(found.verdict, verdict_within);
}

TEST(ChangePoints, OfCachesOfTwoSizesDiffer) {
  std::vector<CodeRow> rows;
  for (std::uint64_t lines = 16; lines <= 64; lines += 4)
    rows.push_back({lines * block_bytes, lines > 32 ? lines * warm_laps : 0,
                    lines > 32 ? lines * (warm_laps + recorded_laps) : 0,
                    lines > 48 ? lines * (warm_laps + recorded_laps) : 0});
  EXPECT_EQ(change_points(rows).verdict, verdict_differs);
}

}  // namespace
}  // namespace gputopo::experiments
