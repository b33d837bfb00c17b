#include "device/cuda/schedule.hpp"

#include <gtest/gtest.h>

namespace gputopo::device::cuda {
namespace {

using program::Batch;
using program::Program;
using program::Record;
using program::Walk;

constexpr std::uint32_t sms = 4;
constexpr std::uint32_t warps = 32;

Walk walk_of(std::uint64_t bytes, Record record = Record::nothing) {
  Walk walk;
  walk.footprint_bytes = bytes;
  walk.record = record;
  return walk;
}

Program program_of(std::vector<program::Phase> phases) {
  Program p;
  p.label = "test";
  p.buffers = {{program::Space::global, 1 << 20, 0}};
  p.phases = std::move(phases);
  return p;
}

std::vector<PlannedLaunch> planned(const Batch& batch) {
  auto launches = plan(batch, sms, warps);
  if (!launches) ADD_FAILURE() << launches.error().message;
  return launches.value_or(std::vector<PlannedLaunch>());
}

TEST(Plan, SpreadsPrivateProgramsOverTheSmsInOneLaunch) {
  const auto launches = planned(Batch(6, program_of({walk_of(4096)})));
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_FALSE(launches[0].crosses_sms);
  const std::vector<std::uint32_t> expected{0, 1, 2, 3, 0, 1};
  ASSERT_EQ(launches[0].phases.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(launches[0].phases[i].sm, expected[i]);
}

TEST(Plan, PassesTheTurnWhereAChainChangesTheSm) {
  Program p = program_of({walk_of(64), walk_of(64), walk_of(64)});
  p.isolation = Scope::gpu;
  p.agents = {{0, 0}, {2, 0}};
  std::get<Walk>(p.phases[1]).agent = 1;
  const auto launches = planned({p});
  ASSERT_EQ(launches.size(), 1U);
  const auto& phases = launches[0].phases;
  EXPECT_TRUE(launches[0].crosses_sms);
  EXPECT_EQ(phases[0].sm, 0U);
  EXPECT_EQ(phases[1].sm, 2U);
  EXPECT_EQ(phases[2].sm, 0U);
  EXPECT_EQ(phases[0].wait_value, 0U);
  EXPECT_EQ(phases[0].post_value, 1U);
  EXPECT_EQ(phases[1].wait_value, 1U);
  EXPECT_EQ(phases[1].post_value, 2U);
  EXPECT_EQ(phases[2].wait_value, 2U);
  EXPECT_EQ(phases[2].post_value, 0U);
}

TEST(Plan, ChainsProgramsThatWantTheChipQuietOnOneSmWithoutTurns) {
  Program p = program_of({walk_of(64)});
  p.isolation = Scope::gpu;
  const auto launches = planned({p, p, p});
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_FALSE(launches[0].crosses_sms);
  for (const auto& phase : launches[0].phases) EXPECT_EQ(phase.sm, 0U);
}

TEST(Plan, GivesEveryCarveOutItsLaunch) {
  Program small = program_of({walk_of(64)});
  Program large = small;
  large.carve_out_percent = 50;
  const auto launches = planned({small, large, small});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].programs, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(launches[1].programs, (std::vector<std::size_t>{1}));
}

TEST(Plan, KeepsPointerChasesThatClashApart) {
  Walk a = walk_of(4096, Record::lap_time);
  Walk b = a;
  b.stride_bytes = 128;
  Walk elsewhere = b;
  elsewhere.first_byte = 8192;
  const auto launches = planned({program_of({a}), program_of({b}), program_of({a}), program_of({elsewhere})});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].programs, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(launches[1].programs, (std::vector<std::size_t>{1}));
}

// Two lines round and round lie there once, however many loads a lap has.
TEST(Plan, RunsLapsOfAnyLengthThroughOneChase) {
  Walk a = walk_of(256, Record::lap_times);
  a.stride_bytes = 128;
  a.loads_per_lap = 8;
  Walk b = a;
  b.loads_per_lap = 16;
  EXPECT_EQ(planned({program_of({a, b})}).size(), 1U);
  b.loads_per_lap = 1;
  EXPECT_FALSE(plan({program_of({a, b})}, sms, warps)) << "a lap of one line only";
}

TEST(Plan, KeepsLapTimesApartToo) {
  const Walk a = walk_of(4096, Record::lap_times);
  Walk b = a;
  b.order = program::Order::reverse;
  Walk texture = a;
  texture.path = program::Path::texture;
  EXPECT_EQ(planned({program_of({a}), program_of({b})}).size(), 2U);
  EXPECT_EQ(planned({program_of({a}), program_of({texture})}).size(), 2U) << "elements are no addresses";
  EXPECT_EQ(planned({program_of({a}), program_of({a})}).size(), 1U);
}

// A bank is one however many buffers' numbers stand for it.
TEST(Plan, KeepsChasesThroughOneConstantBankApart) {
  const auto chase = [](std::uint32_t buffer, std::uint64_t first_byte, std::uint64_t stride) {
    Program p;
    p.label = "constants";
    p.buffers = {{program::Space::constant, 65536, 0}, {program::Space::constant, 65536, 0}};
    Walk walk = walk_of(1024, Record::lap_times);
    walk.path = program::Path::constant;
    walk.buffer = buffer;
    walk.first_byte = first_byte;
    walk.stride_bytes = stride;
    p.phases.emplace_back(walk);
    return p;
  };
  EXPECT_EQ(planned({chase(0, 0, 64), chase(1, 0, 32)}).size(), 2U);
  EXPECT_EQ(planned({chase(0, 0, 64), chase(1, 512, 64)}).size(), 2U);
  EXPECT_EQ(planned({chase(0, 0, 64), chase(1, 1024, 32)}).size(), 1U) << "they share no byte";
  EXPECT_EQ(planned({chase(0, 0, 64), chase(1, 0, 64)}).size(), 1U) << "they are the same";
}

TEST(Plan, RefusesAProgramWhoseOwnChasesClash) {
  const Walk a = walk_of(4096, Record::lap_time);
  Walk b = a;
  b.stride_bytes = 128;
  const auto refused = plan({program_of({a, b})}, sms, warps);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::bad_input);
  b.first_byte = 4096;
  EXPECT_TRUE(plan({program_of({a, b})}, sms, warps));
}

TEST(Words, AreWholeAddressesWhereTheyFit) {
  Walk walk = walk_of(4096, Record::lap_times);
  walk.stride_bytes = 8;
  EXPECT_TRUE(has_wide_words(walk));
  walk.first_byte = 4;
  EXPECT_FALSE(has_wide_words(walk));
  walk.first_byte = 0;
  walk.stride_bytes = 12;
  EXPECT_FALSE(has_wide_words(walk));
  walk.stride_bytes = 128;
  walk.footprint_bytes = 4;
  EXPECT_FALSE(has_wide_words(walk)) << "8 bytes would reach past it";
  walk.footprint_bytes = 4096;
  walk.path = program::Path::texture;
  EXPECT_FALSE(has_wide_words(walk));
}

TEST(Plan, RunsModulesSideBySideWithATurnBetweenThem) {
  Program p;
  p.label = "modules";
  p.isolation = Scope::gpu;
  p.buffers = {{program::Space::constant, 65536, 0}, {program::Space::constant, 65536, 1}};
  for (std::uint32_t buffer : {0U, 1U, 0U}) {
    Walk walk = walk_of(1024);
    walk.path = program::Path::constant;
    walk.buffer = buffer;
    p.phases.emplace_back(walk);
  }
  const auto launches = planned({p});
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].modules, 2U);
  EXPECT_TRUE(launches[0].crosses_sms);
  EXPECT_EQ(launches[0].phases[1].module, 1U);
  EXPECT_EQ(launches[0].phases[1].wait_value, 1U);
  EXPECT_EQ(launches[0].phases[2].wait_value, 2U);
}

TEST(Plan, WalksSeveralBanksInTheSmallestKernelThatCan) {
  Program p;
  p.label = "banks";
  p.isolation = Scope::gpu;
  p.buffers = {{program::Space::constant, 65536, 0}, {program::Space::constant, 65536, 1}};
  for (std::uint32_t buffer : {0U, 1U}) {
    Walk walk = walk_of(1024, buffer == 0 ? Record::nothing : Record::histogram);
    walk.path = program::Path::constant;
    walk.buffer = buffer;
    p.phases.emplace_back(walk);
  }
  EXPECT_EQ(planned({p})[0].kernel, Kernel::banks);
  Program one_bank = p;
  std::get<Walk>(one_bank.phases[1]).buffer = 0;
  EXPECT_EQ(planned({one_bank})[0].kernel, Kernel::chase);
  Program every_load = p;
  std::get<Walk>(every_load.phases[1]).record = Record::latencies;
  EXPECT_EQ(planned({every_load})[0].kernel, Kernel::chase);
  Program code = p;
  program::Execute some;
  some.code_bytes = 8192;
  code.phases.emplace_back(some);
  EXPECT_EQ(planned({code})[0].kernel, Kernel::execute);
}

Walk store_of(std::uint64_t bytes) {
  Walk walk = walk_of(bytes);
  walk.path = program::Path::global_store;
  return walk;
}

TEST(Plan, GivesStoresAKernelOfTheirOwn) {
  const auto launches = planned({program_of({walk_of(4096)}), program_of({store_of(4096), walk_of(4096)}),
                                 program_of({store_of(64)}), program_of({walk_of(64)})});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].kernel, Kernel::chase);
  EXPECT_EQ(launches[1].kernel, Kernel::store);
  EXPECT_EQ(launches[1].programs, (std::vector<std::size_t>{1, 2})) << "stores leave the same zeros everywhere";
}

TEST(Plan, KeepsStoresAwayFromTheWordsOfChases) {
  Walk behind = store_of(4096);
  behind.first_byte = 4096;
  const Walk chase = walk_of(4096, Record::lap_time);
  EXPECT_FALSE(plan({program_of({store_of(64), chase})}, sms, warps));
  EXPECT_FALSE(plan({program_of({chase, store_of(64)})}, sms, warps));
  EXPECT_EQ(planned({program_of({behind, chase})}).size(), 1U);
  EXPECT_EQ(planned({program_of({behind, chase}), program_of({store_of(64)})}).size(), 2U);
  EXPECT_EQ(planned({program_of({behind, chase}), program_of({behind})}).size(), 1U);
}

TEST(Plan, RefusesStoresBesideCode) {
  program::Execute some;
  some.code_bytes = 8192;
  EXPECT_FALSE(plan({program_of({store_of(64), some})}, sms, warps));
}

// Each of the kernels that walk over code can do one other kind of load: any more would be read as jumps.
TEST(Plan, GivesCodeTheKernelOfWhatIsBesideIt) {
  const auto beside_code = [](const std::vector<program::Path>& paths) {
    Program p = program_of({});
    p.buffers = {{program::Space::code, 1 << 16, 0},
                 {program::Space::constant, 1 << 16, 0},
                 {program::Space::global, 1 << 16, 0}};
    for (const program::Path path : paths) {
      Walk walk = walk_of(4096);
      walk.path = path;
      walk.buffer = path == program::Path::instruction ? 0 : path == program::Path::constant ? 1 : 2;
      p.phases.emplace_back(walk);
    }
    return p;
  };
  using program::Path;
  EXPECT_EQ(planned({beside_code({Path::instruction, Path::constant})}).at(0).kernel, Kernel::code);
  EXPECT_EQ(planned({beside_code({Path::instruction, Path::global_l2_only})}).at(0).kernel, Kernel::paged_code);
  for (const Path other : {Path::global_cached, Path::constant}) {
    const auto refused = plan({beside_code({Path::instruction, Path::global_l2_only, other})}, sms, warps);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("no kernel has both"), std::string::npos) << refused.error().message;
  }
}

TEST(Plan, RefusesAnSmOrWarpThatIsNotThere) {
  Program p = program_of({walk_of(64)});
  p.agents = {{sms, 0}};
  EXPECT_FALSE(plan({p}, sms, warps));
  p.agents = {{0, warps}};
  EXPECT_FALSE(plan({p}, sms, warps));
}

}  // namespace
}  // namespace gputopo::device::cuda
