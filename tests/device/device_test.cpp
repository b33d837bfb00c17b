// Discovery on the machine's own GPU.
#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "device/cuda/cuda_device.hpp"
#include "evidence/inference/histogram.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

class RealGpu : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = device::open_cuda(0);
    if (!opened) GTEST_SKIP() << "needs a GPU: " << opened.error().message;
    gpu_ = std::move(*opened);
  }

  Topology discover() {
    auto topology = experiments::discover(*gpu_, {});
    if (!topology) ADD_FAILURE() << topology.error().message;
    return topology.value_or(Topology{});
  }

  bool is_unified() const { return gpu_->info().has_no_allocate; }

  std::unique_ptr<device::Device> gpu_;
};

double value_of(const Topology& t, const char* id, const char* attribute) {
  const Memory* memory = t.find(id);
  const Estimate* estimate = memory != nullptr ? memory->find(attribute) : nullptr;
  return estimate != nullptr ? estimate->value.value_or(-1) : -1;
}

TEST_F(RealGpu, TenRunsGiveTheSameSizesAndLinesAndLatenciesWithinTwoPercent) {
  const Topology first = discover();
  for (int run = 1; run < 10; ++run) {
    const Topology again = discover();
    for (const Memory& m : first.memories)
      for (const auto& [name, estimate] : m.attributes) {
        const double before = estimate.value.value_or(-1);
        const double now = value_of(again, m.id.c_str(), name.c_str());
        if (name == "size" || name == "line_size" || name == "sector_size") {
          EXPECT_EQ(now, before) << m.id << ' ' << name;
        } else if (name == "latency") {
          EXPECT_NEAR(now, before, 0.02 * before) << m.id << ' ' << name;
        }
      }
  }
}

// As looks by hand on an H100 have it: a store leaves its word in the L1, and in the L2 only what makes a sector whole.
TEST_F(RealGpu, AHoppersStoresGoThroughAnL1OfWordsIntoAnL2OfWholeSectors) {
  if (gpu_->info().gpu.compute_capability != "9.0") GTEST_SKIP() << "needs a Hopper";
  experiments::DiscoverOptions options;
  options.only = {"l1", "l2"};
  options.deep = true;
  const auto topology = experiments::discover(*gpu_, options);
  ASSERT_TRUE(topology) << topology.error().message;
  const auto said = [&](const char* id, const char* about) {
    const Statement& s = topology->find(id)->structure.at(about);
    return s.value.empty() ? "open: " + s.note : s.value;
  };
  EXPECT_EQ(said("l1", "write_hit"), "update");
  EXPECT_EQ(said("l1", "write_allocate"), "word");
  EXPECT_EQ(said("l1", "write_policy"), "through");
  EXPECT_EQ(said("l2", "write_hit"), "update");
  EXPECT_EQ(said("l2", "write_allocate"), "full_sector");
}

TEST_F(RealGpu, L1TextureAndReadOnlyAreOneCacheOfOneSize) {
  if (!is_unified()) GTEST_SKIP() << "needs a GPU with a unified L1";
  const Topology t = discover();
  for (const char* id : {"texture", "read_only"}) {
    ASSERT_NE(t.find(id), nullptr);
    EXPECT_EQ(t.find(id)->physical_cache, "l1");
    EXPECT_EQ(value_of(t, id, "size"), value_of(t, "l1", "size"));
  }
  EXPECT_EQ(t.find("l1")->find("size")->status, Status::measured);
  EXPECT_TRUE(t.find("l1")->find("size")->note.empty()) << "what fits and what is held disagree";
}

TEST_F(RealGpu, CodeThatWasPushedOutTakesLonger) {
  if (gpu_->info().code_bytes == 0) GTEST_SKIP() << "needs compute capability 7.0";
  const std::uint64_t block = gpu_->info().code_block_bytes;
  program::Program p;
  p.label = "code";
  p.buffers = {{program::Space::code, gpu_->info().code_bytes, 0}};
  program::Walk few;
  few.path = program::Path::instruction;
  few.order = program::Order::reverse;
  few.stride_bytes = block;
  few.footprint_bytes = 8 * block;
  few.loads_per_lap = 512;
  few.record = program::Record::histogram;
  program::Walk all = few;
  all.footprint_bytes = gpu_->info().code_bytes;
  all.loads_per_lap = 0;
  all.laps = 2;
  p.phases = {few, all};
  const auto traces = gpu_->run({p});
  ASSERT_TRUE(traces) << traces.error().message;
  const auto median = [](const program::PhaseTrace& t) { return *evidence::quantile(t.histogram, 0.5); };
  EXPECT_LT(median(traces->front().phases[0]) + 5, median(traces->front().phases[1]));
  EXPECT_EQ(evidence::total(traces->front().phases[1].histogram), 2 * all.footprint_bytes / block);
}

TEST_F(RealGpu, ReservationIsTheSameAtEveryCarveOut) {
  if (!is_unified()) GTEST_SKIP() << "needs a GPU with a unified L1";
  const Topology t = discover();
  ASSERT_GE(t.find("l1")->carve_outs.size(), 2U);
  for (const CarveOut& row : t.find("l1")->carve_outs)
    EXPECT_EQ(*row.reserved_bytes.value, *t.find("l1")->carve_outs.front().reserved_bytes.value);
}

TEST_F(RealGpu, GroupsAreAPartitionOfAllSmsAndTheSameInFiveRuns) {
  const Topology first = discover();
  const auto& groups = first.find("constant_l1_5")->sm_groups;
  std::map<std::uint32_t, int> seen;
  for (const auto& group : groups)
    for (const std::uint32_t sm : group) ++seen[sm];
  EXPECT_EQ(seen.size(), first.gpu.sm_count);
  for (const auto& [sm, times] : seen) EXPECT_EQ(times, 1) << "SM " << sm;
  for (int run = 1; run < 5; ++run) {
    const Topology again = discover();
    EXPECT_EQ(again.find("constant_l1_5")->sm_groups, groups);
    EXPECT_EQ(again.sm_places, first.sm_places);
  }
}

TEST_F(RealGpu, EveryPairOfCachesIsToldTheSameByAllTests) {
  const Topology t = discover();
  EXPECT_FALSE(t.sharing.empty());
  for (const SharingCheck& check : t.sharing) {
    EXPECT_NE(check.verdict, "inconclusive") << check.first << ", " << check.second;
    for (const SharingTest& test : check.tests)
      EXPECT_EQ(test.verdict, check.verdict) << check.first << ' ' << test.method;
  }
}

TEST_F(RealGpu, TheH200sConstantL15HoldsExactly128KiB) {
  const Topology t = discover();
  if (t.gpu.name.find("H200") == std::string::npos) GTEST_SKIP() << "needs an H200, this is a " << t.gpu.name;
  const Estimate& size = *t.find("constant_l1_5")->find("size");
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(size.value, 131072);
  EXPECT_EQ(value_of(t, "constant_l1_5", "line_size"), 256);
}

TEST_F(RealGpu, AWalkThatLeavesItsBufferIsRefusedBeforeItRuns) {
  program::Program p;
  p.label = "outside";
  p.buffers = {{program::Space::global, 4096, 0}};
  program::Walk walk;
  walk.footprint_bytes = 8192;
  p.phases.emplace_back(walk);
  const auto traces = gpu_->run({p});
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().kind, Error::Kind::bad_input);
}

}  // namespace
}  // namespace gputopo
