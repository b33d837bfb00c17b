#include "device/cuda/results.hpp"

#include <algorithm>
#include <memory>
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
  ReadResults() : results_(new Result[2]()) {
    results_[0].done = results_[1].done = 1;
    results_[0].sm = 2;
    results_[0].begin_ns = 3000;
    results_[0].end_ns = 4000;
    results_[1].sm = 0;
    results_[1].begin_ns = 1000;
    results_[1].end_ns = 6000;
    for (std::uint32_t lap = 0; lap < 4; ++lap) results_[1].data[lap] = 500 + lap;
  }
  program::ProgramTrace read(std::vector<Gap> gaps, std::uint32_t gap_count) {
    state_.gap_count = gap_count;
    std::vector<program::ProgramTrace> traces(1);
    missing_ = read_results(batch_, launch_, assign_results(batch_, launch_),
                            {&state_, results_.get(), std::move(gaps)}, traces);
    return traces[0];
  }
  Batch batch_ = chain();
  PlannedLaunch launch_ = launch_of(batch_);
  std::unique_ptr<Result[]> results_;
  LaunchState state_{};
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
  batch_[0].phases[2] = recorded_by(0, Record::histogram);  // of 1024 loads
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
