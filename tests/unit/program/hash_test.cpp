#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "program/program.hpp"

namespace gputopo::program {
namespace {

Program example_program() {
  Program p;
  p.label = "example";
  p.buffers = {{Space::global, 4096, 0}};
  Walk walk;
  walk.footprint_bytes = 4096;
  walk.stride_bytes = 128;
  walk.record = Record::histogram;
  p.phases = {walk, Execute{0, 1024, 2, true}};
  return p;
}

// Recordings in the repository are found by these values: they may never change.
TEST(Hash, StaysTheSameForEver) {
  EXPECT_EQ(hash(Program{}), 0x41c7793ba3b56cc4ULL);
  EXPECT_EQ(hash(example_program()), 0xa1c7ae321de17c71ULL);
}

TEST(Hash, LeavesTheLabelOut) {
  Program other = example_program();
  other.label = "renamed";
  EXPECT_EQ(hash(other), hash(example_program()));
}

TEST(Hash, DependsOnEveryField) {
  const auto walk = [](Program& p) -> Walk& { return std::get<Walk>(p.phases[0]); };
  const auto execute = [](Program& p) -> Execute& { return std::get<Execute>(p.phases[1]); };
  const std::vector<std::function<void(Program&)>> changes{
      [](Program& p) { p.buffers[0].space = Space::constant; },
      [](Program& p) { p.buffers[0].size_bytes = 8192; },
      [](Program& p) { p.buffers[0].module = 1; },
      [](Program& p) { p.buffers.push_back(p.buffers[0]); },
      [](Program& p) { p.agents[0].sm = 0; },
      [](Program& p) { p.agents[0].sm = 1; },
      [](Program& p) { p.agents[0].warp = 1; },
      [](Program& p) { p.agents.push_back({}); },
      [](Program& p) { p.phases.pop_back(); },
      [](Program& p) { std::swap(p.phases[0], p.phases[1]); },
      [](Program& p) { p.carve_out_percent = 1; },
      [](Program& p) { p.isolation = Scope::gpu; },
      [&](Program& p) { walk(p).agent = 1; },
      [&](Program& p) { walk(p).buffer = 1; },
      [&](Program& p) { walk(p).path = Path::texture; },
      [&](Program& p) { walk(p).first_byte = 4; },
      [&](Program& p) { walk(p).footprint_bytes = 2048; },
      [&](Program& p) { walk(p).stride_bytes = 64; },
      [&](Program& p) { walk(p).order = Order::shuffled; },
      [&](Program& p) { walk(p).order_seed = 1; },
      [&](Program& p) { walk(p).loads_per_lap = 3; },
      [&](Program& p) { walk(p).laps = 3; },
      [&](Program& p) { walk(p).holds = true; },
      [&](Program& p) { walk(p).lanes = 3; },
      [&](Program& p) { walk(p).record = Record::nothing; },
      [&](Program& p) { execute(p).agent = 1; },
      [&](Program& p) { execute(p).code_bytes = 2048; },
      [&](Program& p) { execute(p).laps = 3; },
      [&](Program& p) { execute(p).timed = false; },
  };
  std::set<std::uint64_t> hashes{hash(example_program())};
  for (const auto& change : changes) {
    Program p = example_program();
    change(p);
    hashes.insert(hash(p));
  }
  EXPECT_EQ(hashes.size(), changes.size() + 1);
}

}  // namespace
}  // namespace gputopo::program
