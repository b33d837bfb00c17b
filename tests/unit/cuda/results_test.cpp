#include "device/cuda/results.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>

namespace gputopo::device::cuda {
namespace {

using kernels::Gap;
using kernels::LaunchState;
using kernels::Result;
using program::Batch;
using program::Program;
using program::Record;
using program::Walk;

Walk recorded_by(std::uint32_t agent, Record record = Record::nothing) {
  Walk walk;
  walk.agent = agent;
  walk.footprint_bytes = 4096;
  walk.record = record;
  return walk;
}

// SM 0, then SM 2, then SM 0 again; only the last phase records.
Batch chain() {
  Program p;
  p.label = "chain";
  p.isolation = Scope::gpu;
  p.buffers = {{program::Space::global, 4096, 0}};
  p.agents = {{0, 0}, {2, 0}};
  p.phases = {recorded_by(0), recorded_by(1), recorded_by(0, Record::lap_times)};
  std::get<Walk>(p.phases[2]).laps = 3;
  return {p};
}

PlannedLaunch launch_of(const Batch& batch) {
  auto launches = plan(batch, 4, 32);
  EXPECT_TRUE(launches);
  return launches->front();
}

TEST(ResultSlots, GoToWhatRecordsAndToTheLastPhaseInEveryBlock) {
  const Batch batch = chain();
  const ResultSlots slots = assign_results(batch, launch_of(batch));
  const std::vector<std::optional<std::size_t>> expected{std::nullopt, 0, 1};
  EXPECT_EQ(slots.of_phase, expected);
  EXPECT_EQ(slots.count, 2U);
}

class ReadResults : public testing::Test {
 protected:
  ReadResults() {
    results_[0].done = results_[1].done = 1;
    results_[0].sm = 2;
    results_[0].begin_ns = 3000;
    results_[0].end_ns = 4000;
    results_[1].sm = 0;
    results_[1].begin_ns = 1000;
    results_[1].end_ns = 6000;
    for (std::uint32_t lap = 0; lap < 4; ++lap) results_[1].data[lap] = 500 + lap;
  }
  // The launch's rows as the host has them.
  program::ProgramTrace read(std::vector<Gap> gaps, std::uint32_t gap_count) {
    const ResultSlots slots = assign_results(batch_, launch_);
    std::vector<std::uint64_t> rows((slots.rows() * slots.row_bytes() + sizeof(Result)) / sizeof(std::uint64_t));
    auto* const state = reinterpret_cast<LaunchState*>(rows.data());
    state->gap_count = gap_count;
    for (std::size_t i = 0; i < std::size(results_); ++i)
      std::memcpy(reinterpret_cast<std::byte*>(state + 1) + i * slots.row_bytes(), &results_[i], slots.most_bytes);
    std::vector<program::ProgramTrace> traces(1);
    missing_ = read_results(batch_, launch_, slots, {state, std::move(gaps)}, traces);
    return traces[0];
  }
  Batch batch_ = chain();
  PlannedLaunch launch_ = launch_of(batch_);
  Result results_[2]{};
  std::vector<std::size_t> missing_;
};

TEST_F(ReadResults, GivesTheCyclesOfEachLap) {
  const auto trace = read({}, 0);
  EXPECT_EQ(trace.phases[2].lap_cycles, (std::vector<std::uint64_t>{500, 501, 502}));
  EXPECT_TRUE(trace.phases[0].lap_cycles.empty());
  EXPECT_EQ(trace.agent_sms, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_TRUE(missing_.empty());
}

TEST_F(ReadResults, GivesEveryLatencyThatOccurred) {
  Walk walk = recorded_by(0, Record::histogram);
  walk.loads_per_lap = 512;
  walk.laps = 2;
  batch_[0].phases[2] = walk;
  Result& r = results_[1];
  std::fill_n(r.data, kernels::histogram_bins, 0);
  r.data[33] = 1000;
  r.data[kernels::histogram_bins - 1] = 21;
  r.overflow_count = 3;
  r.overflow[0] = r.overflow[2] = 5000;
  r.overflow[1] = 4000;
  const std::vector<program::LatencyCount> expected{
      {33, 1000}, {kernels::histogram_bins - 1, 21}, {4000, 1}, {5000, 2}};
  EXPECT_EQ(read({}, 0).phases[2].histogram, expected);
}

TEST_F(ReadResults, CountsLatenciesThatWereListed) {
  Walk walk = recorded_by(0, Record::histogram);
  walk.lead_loads = 3;
  walk.loads_per_lap = 10;
  batch_[0].phases[2] = walk;
  const std::uint16_t listed[]{5000, 33, 34, 33, 4000, 33, 5000, 99};
  std::copy(std::begin(listed), std::end(listed), reinterpret_cast<std::uint16_t*>(results_[1].data));
  const std::vector<program::LatencyCount> expected{{33, 3}, {34, 1}, {4000, 1}, {5000, 2}};
  EXPECT_EQ(read({}, 0).phases[2].histogram, expected);
}

std::size_t written_of(const Walk& walk) {
  Batch batch = chain();
  batch[0].phases[2] = walk;
  return assign_results(batch, launch_of(batch)).most_bytes - offsetof(Result, data);
}

TEST(ResultSlots, SayHowMuchOfAResultIsWritten) {
  constexpr std::size_t all = sizeof(Result) - offsetof(Result, data);
  Walk walk = recorded_by(0, Record::histogram);
  walk.loads_per_lap = 63;
  EXPECT_EQ(written_of(walk), 128U) << "two bytes a load, and the next row is aligned";
  walk.laps = 2;
  EXPECT_EQ(written_of(walk), all);
  EXPECT_EQ(written_of(recorded_by(0, Record::lap_time)), 0U);
  EXPECT_EQ(written_of(recorded_by(0, Record::lap_times)), all);
}

TEST(RecordedAs, LatenciesIsAHistogramOfFewLoads) {
  Walk walk = recorded_by(0, Record::histogram);
  walk.loads_per_lap = 256;
  EXPECT_EQ(recorded_as(walk), Record::latencies);
  walk.loads_per_lap = 257;
  EXPECT_EQ(recorded_as(walk), Record::histogram);
  walk.lead_loads = 1;
  EXPECT_EQ(recorded_as(walk), Record::latencies) << "what leads isn't recorded";
  walk.laps = 2;
  EXPECT_EQ(recorded_as(walk), Record::histogram) << "a lap takes the place of the one before";
}

TEST_F(ReadResults, CountsWhatTheProgramsOwnBlocksSaw) {
  const auto trace = read({{4100, 5000, 9, 0, 0}, {4200, 5100, 9, 2, 0}, {2000, 2500, 9, 3, 0}}, 3);
  EXPECT_EQ(trace.interruptions.switches, 1U) << "SM 3 has no part in it";
  EXPECT_EQ(trace.interruptions.away_ns, 1000U);
}

TEST_F(ReadResults, TakesGapsThatFoundNoRoomForTheProgramsOwn) {
  EXPECT_EQ(read({}, 0).interruptions.switches, 0U);
  EXPECT_EQ(read({}, 1).interruptions.switches, 1U);
}

TEST_F(ReadResults, MissAProgramWhoseBlockWroteNothing) {
  results_[0].done = 0;
  read({}, 0);
  EXPECT_EQ(missing_, (std::vector<std::size_t>{0}));
}

}  // namespace
}  // namespace gputopo::device::cuda
