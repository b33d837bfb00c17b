// The watch over the timer and the pointer chases, on the machine's own GPU. With GPUTOPO_TEST_NEIGHBOUR in the
// environment another process is keeping the GPU busy (run_on_gpu.sh starts one), without it none may.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "device/cuda/cuda_device.hpp"

namespace gputopo {
namespace {

using program::Batch;
using program::Order;
using program::Path;
using program::Program;
using program::ProgramTrace;
using program::Record;
using program::Space;
using program::Walk;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

Walk walk_of(Path path, std::uint64_t bytes, std::uint64_t stride, std::uint32_t laps,
             Record record = Record::nothing) {
  Walk walk;
  walk.path = path;
  walk.footprint_bytes = bytes;
  walk.stride_bytes = stride;
  walk.laps = laps;
  walk.record = record;
  return walk;
}

Space space_of(Path path) {
  if (path == Path::constant) return Space::constant;
  return path == Path::shared ? Space::shared : Space::global;
}

Program program_of(const char* label, std::uint64_t bytes, std::vector<program::Phase> phases) {
  Program p;
  p.label = label;
  p.buffers = {{space_of(std::get<Walk>(phases.front()).path), bytes, 0}};
  p.phases = std::move(phases);
  return p;
}

class Watch : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = device::open_cuda(0);
    if (!opened) GTEST_SKIP() << "needs a GPU: " << opened.error().message;
    gpu_ = std::move(*opened);
  }
  std::vector<ProgramTrace> run(const Batch& batch) {
    auto traces = gpu_->run(batch);
    if (!traces) ADD_FAILURE() << traces.error().message;
    return traces.value_or(std::vector<ProgramTrace>());
  }
  static bool has_neighbour() { return std::getenv("GPUTOPO_TEST_NEIGHBOUR") != nullptr; }

  // Lines that are warmed, left alone for some 2 ms, and looked for.
  static Program patient() {
    const Walk warm = walk_of(Path::global_cached, 64 * kib, 128, 2);
    Walk elsewhere = walk_of(Path::global_l2_only, 1024 * kib, 128, 2);
    elsewhere.buffer = 1;
    Program p = program_of("patient", 64 * kib,
                           {warm, elsewhere, walk_of(Path::global_cached, 64 * kib, 128, 1, Record::histogram)});
    p.buffers.push_back({Space::global, 1024 * kib, 0});
    return p;
  }
  // How many of the lines that a program warmed were gone when it looked.
  static std::uint64_t lost(const ProgramTrace& trace) {
    std::uint64_t slow = 0;
    for (const auto& bin : trace.phases.back().histogram)
      if (bin.latency_cycles > 150) slow += bin.count;
    return slow;
  }
  double cycles_a_load(Path path, std::uint64_t bytes, std::uint64_t stride, std::uint32_t laps) {
    const Path warming = path == Path::global_no_allocate ? Path::global_cached : path;
    const Walk warm = walk_of(warming, bytes, stride, 2);
    const Walk timed = walk_of(path, bytes, stride, laps, Record::lap_times);
    const auto traces = run({program_of("latency", bytes, {warm, timed})});
    if (traces.empty()) return 0;
    auto cycles = traces[0].phases[1].lap_cycles;
    std::nth_element(cycles.begin(), cycles.begin() + cycles.size() / 2, cycles.end());
    return static_cast<double>(cycles[cycles.size() / 2]) / static_cast<double>(program::lap_loads(timed));
  }

  std::unique_ptr<device::Device> gpu_;
};

TEST_F(Watch, SeesNothingOnAQuietGpu) {
  if (has_neighbour()) GTEST_SKIP() << "there is a neighbour";
  Batch batch(gpu_->info().gpu.sm_count, patient());
  batch.push_back(program_of("fill", 60 * kib, {walk_of(Path::shared, 8 * kib, 4, 4, Record::lap_times)}));
  batch.push_back(program_of("constant", 64 * kib, {walk_of(Path::constant, 64 * kib, 64, 16, Record::histogram)}));
  const std::uint64_t far = std::min(15 * gib, gpu_->info().largest_buffer_bytes / 2);
  Walk lanes = walk_of(Path::global_l2_only, far, 64 * kib, 1);
  lanes.lanes = 1024;
  batch.push_back(
      program_of("lanes", far, {lanes, walk_of(Path::global_l2_only, far, 2048 * kib, 2, Record::histogram)}));
  batch.push_back(program_of("long lap", far, {walk_of(Path::global_l2_only, far, 2048 * kib, 2, Record::lap_time)}));
  Program code = program_of("code", 16 * kib, {walk_of(Path::constant, 16 * kib, 64, 1)});
  program::Execute execute;
  execute.code_bytes = gpu_->info().execute_limit_bytes;
  execute.laps = 4;
  execute.timed = true;
  code.phases.emplace_back(execute);
  if (gpu_->info().has_execute) batch.push_back(code);
  Program banks;
  banks.label = "banks";
  banks.isolation = Scope::gpu;
  for (std::uint32_t module = 0; module < 3; ++module) {
    banks.buffers.push_back({Space::constant, 60 * kib, module});
    Walk bank = walk_of(Path::constant, 60 * kib, 64, 2, Record::histogram);
    bank.buffer = module;
    banks.phases.emplace_back(bank);
  }
  batch.push_back(banks);
  Program chain = patient();
  chain.isolation = Scope::gpu;
  chain.agents = {{0, 0}, {5, 0}};
  std::get<Walk>(chain.phases[1]).agent = 1;
  batch.push_back(chain);
  for (int repetition = 0; repetition < 5; ++repetition) {
    const auto traces = run(batch);
    for (std::size_t i = 0; i < traces.size(); ++i) {
      const auto& seen = traces[i].interruptions;
      EXPECT_EQ(seen.switches, 0U) << batch[i].label << ' ' << i << " was away for " << seen.away_ns << " ns";
      if (seen.cycles_per_ns != 0) {
        EXPECT_NEAR(seen.cycles_per_ns, 1.5, 1.3) << batch[i].label;
      }
      if (batch[i].label == "patient") {
        EXPECT_EQ(lost(traces[i]), 0U) << "program " << i << ": a turn or a wait emptied L1";
      }
    }
  }
}

// The proof of the watch: whoever lost lines was interrupted and says so, whoever says nothing lost none.
TEST_F(Watch, TellsWhoLostLinesBesideANeighbour) {
  if (!has_neighbour()) GTEST_SKIP() << "needs a neighbour (GPUTOPO_TEST_NEIGHBOUR)";
  std::size_t switched = 0, lost_lines = 0, programs = 0;
  std::uint64_t away_ns = 0;
  for (int repetition = 0; repetition < 40; ++repetition) {
    Batch batch(gpu_->info().gpu.sm_count, patient());
    Program chain = patient();
    chain.isolation = Scope::gpu;
    chain.agents = {{0, 0}, {5, 0}};
    std::get<Walk>(chain.phases[1]).agent = 1;
    batch.push_back(chain);
    for (const ProgramTrace& trace : run(batch)) {
      const bool interrupted = trace.interruptions.switches > 0;
      const bool lost_some = lost(trace) > 32;
      EXPECT_TRUE(interrupted || !lost_some) << lost(trace) << " lines gone and nothing seen";
      ++programs;
      switched += interrupted ? 1 : 0;
      lost_lines += lost_some ? 1 : 0;
      away_ns += trace.interruptions.away_ns;
    }
  }
  std::cout << switched << " of " << programs << " programs switched, " << lost_lines << " lost lines, away "
            << static_cast<double>(away_ns) / 1e6 / static_cast<double>(std::max<std::size_t>(1, switched))
            << " ms each\n";
  EXPECT_GT(switched, 0U) << "is the neighbour running?";
  EXPECT_GT(lost_lines, 0U);
}

TEST_F(Watch, LapsTakeWhatTheirLoadsTakeHoweverManyStretchesTheyHave) {
  if (has_neighbour()) GTEST_SKIP() << "there is a neighbour";
  struct Case {
    Path path;
    std::uint64_t stride;
  };
  for (const Case& c : {Case{Path::global_cached, 64},
                        {Path::global_cached, 4},
                        {Path::read_only, 64},
                        {Path::global_no_allocate, 64},
                        {Path::texture, 64},
                        {Path::shared, 4},
                        {Path::shared, 64},
                        {Path::constant, 16}}) {
    const double whole = cycles_a_load(c.path, 64 * c.stride, c.stride, 101);
    const double longer = cycles_a_load(c.path, (c.path == Path::constant ? 112 : 100) * c.stride, c.stride, 101);
    const double few = cycles_a_load(c.path, 16 * c.stride, c.stride, 101);
    const double odd = cycles_a_load(c.path, 9 * c.stride, c.stride, 101);
    std::cout << to_string(c.path) << " stride " << c.stride << ": " << odd << ' ' << few << ' ' << whole << ' '
              << longer << '\n';
    EXPECT_NEAR(longer, whole, 0.5) << to_string(c.path);
    EXPECT_NEAR(few, whole, 1.0) << to_string(c.path);
  }
  std::cout << "l2: " << cycles_a_load(Path::global_l2_only, 1024 * kib, 128, 21) << '\n';
}

// By one thread, as every walk; a chase by all 32 threads of a warp takes 34.0 there.
TEST_F(Watch, AnH200sL1HitTakes32Cycles) {
  if (has_neighbour()) GTEST_SKIP() << "there is a neighbour";
  if (gpu_->info().gpu.name.find("H200") == std::string::npos) GTEST_SKIP() << "needs an H200";
  EXPECT_NEAR(cycles_a_load(Path::global_cached, 8 * kib, 64, 101), 32.0, 0.5);
  EXPECT_NEAR(cycles_a_load(Path::read_only, 8 * kib, 64, 101), 32.0, 0.5);
  EXPECT_NEAR(cycles_a_load(Path::global_l2_only, 1024 * kib, 64, 21), 282, 8);
}

}  // namespace
}  // namespace gputopo
