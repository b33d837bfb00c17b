// What is said of latencies and levels where another program takes a part of every load.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

using Json = nlohmann::json;
using testing::AnyOf;
using testing::DoubleNear;

Json level(const char* id, double latency) {
  return {{"level", id}, {"latency", latency}};
}

// No L1: every load of global memory leaves the SM.
Json model_beside(double l2_cycles, double memory_cycles) {
  const Json beyond = {level("l2", l2_cycles), level("device_memory", memory_cycles)};
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Disturbed"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1000000}}},
          {"caches", {{"l2", {{"size", "256 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
          {"clock_overhead", {{"default", 20}, {"constant", 7}}},
          {"shared", {{"carve_outs", {"16 KiB"}}, {"latency", 25}}},
          {"paths", {{"global_cached", beyond}, {"global_l2_only", beyond}}}};
}

std::unique_ptr<device::Device> device_of(const Json& model) {
  auto parsed = sim::parse_model(model.dump(), "disturbed");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return sim::make_device(std::move(*parsed));
}

Topology discovered_beside(device::Device& device, const std::vector<std::string>& only) {
  experiments::DiscoverOptions options;
  options.only = only;
  options.extras = false;
  auto found = experiments::discover(device, options);
  EXPECT_TRUE(found) << found.error().message;
  return std::move(*found);
}

Topology discovered_beside(const Json& model) {
  return discovered_beside(*device_of(model), {"constant_l1", "l1", "l2", "device_memory"});
}

// Another process's blocks were seen on the SMs, as under MPS.
class SharedGpu final : public device::Device {
 public:
  explicit SharedGpu(const Json& model) : device_(device_of(model)) {}
  const device::DeviceInfo& info() const override { return device_->info(); }
  bool is_shared() const override { return true; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override { return device_->run(batch); }

 private:
  std::unique_ptr<device::Device> device_;
};

TEST(BesideAProcessOnTheSameSms, LatenciesAreUpperBounds) {
  SharedGpu device(model_beside(150, 280));
  const Topology found = discovered_beside(device, {"shared"});
  const Estimate& latency = *found.find("shared")->find("latency");
  EXPECT_EQ(latency.status, Status::upper_bound);
  EXPECT_THAT(latency.note, testing::HasSubstr("at the same time"));
  EXPECT_THAT(found.provenance.notes, testing::Contains(testing::HasSubstr("as under MPS")));
  const auto alone = device_of(model_beside(150, 280));
  EXPECT_EQ(discovered_beside(*alone, {"shared"}).find("shared")->find("latency")->status, Status::measured);
}

TEST(BesideAProcessOnTheSameSms, SizesAreLowerBounds) {
  Json model = model_beside(150, 280);
  model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 4}};
  model["paths"]["global_cached"] = {level("l1", 30), level("l2", 150), level("device_memory", 280)};
  SharedGpu device(model);
  const Topology found = discovered_beside(device, {"l1"});
  const Memory& l1 = *found.find("l1");
  EXPECT_EQ(l1.find("size")->status, Status::lower_bound) << l1.find("size")->note;
  EXPECT_LE(*l1.find("size")->value, 16384);
  EXPECT_GT(*l1.find("size")->value, 15000);
  EXPECT_EQ(l1.find("line_size")->status, Status::measured);
}

TEST(BesideAProcessOnTheSameSms, WhatLiesBeyondThemIsOpen) {
  SharedGpu device(model_beside(150, 280));
  const Topology found = discovered_beside(device, {"l2", "device_memory"});
  for (const char* id : {"l2", "device_memory"})
    EXPECT_EQ(found.find(id)->find("latency")->status, Status::inconclusive) << id;
}

// A client of a server that others may be clients of.
class ServedGpu final : public device::Device {
 public:
  explicit ServedGpu(const Json& model) : device_(device_of(model)), info_(device_->info()) {
    info_.may_run_beside_others = true;
  }
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override { return device_->run(batch); }

 private:
  std::unique_ptr<device::Device> device_;
  device::DeviceInfo info_;
};

TEST(BesideAProcessOfTheSameServer, WhatLiesBeyondTheSmsIsOpenOnceItFillsTheL2) {
  Json model = model_beside(150, 280);
  ServedGpu alone(model);
  EXPECT_EQ(discovered_beside(alone, {"device_memory"}).find("device_memory")->find("latency")->status,
            Status::measured);
  model["tenant"] = {{"l2_lines_per_us", 2000}};
  ServedGpu beside(model);
  const Topology found = discovered_beside(beside, {"device_memory"});
  EXPECT_EQ(found.find("device_memory")->find("latency")->status, Status::inconclusive);
  EXPECT_THAT(found.provenance.notes, testing::Contains(testing::HasSubstr("as under MPS")));
}

// Of whose SMs not all can be had at the same time.
class CrowdedGpu final : public device::Device {
 public:
  explicit CrowdedGpu(const Json& model) : device_(device_of(model)) {}
  const device::DeviceInfo& info() const override { return device_->info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    for (const program::Program& p : batch)
      if (p.label.starts_with("l2 lines of SM") || p.label.starts_with("l2 lines as SM"))
        return fail(Error::Kind::unavailable, "couldn't place a thread block");
    return device_->run(batch);
  }

 private:
  std::unique_ptr<device::Device> device_;
};

// Whether an L2 has sides isn't known then: what an SM finds near may be half of it.
TEST(BesideAProcessOnTheSameSms, AnL2OfWhichNotAllSmsCouldBeAskedMayHaveSides) {
  Json model = model_beside(150, 280);
  model["caches"]["l2"] = {{"size", "512 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}};
  model["groups"] = {{"tpc", 1}, {"gpc", {{0, 1}, {2, 3}}}, {"partition", 2}};
  for (Json& l : model["paths"]["global_cached"])
    if (l["level"] == "l2") l["far_latency"] = 220;
  model["paths"]["global_l2_only"] = model["paths"]["global_cached"];
  CrowdedGpu device(model);
  const Topology found = discovered_beside(device, {"l2"});
  const Memory& l2 = *found.find("l2");
  ASSERT_TRUE(l2.structure.contains("l2_sides"));
  EXPECT_EQ(l2.structure.at("l2_sides").status, Status::inconclusive);
  const Estimate* size = l2.find("size");
  ASSERT_NE(size, nullptr);
  EXPECT_NE(size->status, Status::measured) << size->value.value_or(0);
  // Of lines that are near, whether others are far or not.
  const Estimate& latency = *l2.find("latency");
  ASSERT_EQ(latency.status, Status::measured) << latency.note;
  EXPECT_LE(latency.interval->low, 150);
  EXPECT_GE(latency.interval->high, 150);
}

// Other processes took turns, and a program ran at another clock.
class ClockedGpu final : public device::Device {
 public:
  ClockedGpu(const Json& model, bool changes) : device_(device_of(model)), changes_(changes) {}
  const device::DeviceInfo& info() const override { return device_->info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    auto traces = device_->run(batch);
    if (!traces) return traces;
    ++runs_;
    for (program::ProgramTrace& trace : *traces) {
      trace.interruptions.cycles_per_ns = changes_ && runs_ == 4 ? 0.8 : 1;
      trace.interruptions.switches = runs_ == 2 ? 1 : 0;
    }
    return traces;
  }

 private:
  std::unique_ptr<device::Device> device_;
  bool changes_;
  int runs_ = 0;
};

TEST(BesideATurnTaker, CyclesOfWhatHasClocksOfItsOwnAreOpenWhereOneChanged) {
  for (const bool changes : {false, true}) {
    ClockedGpu device(model_beside(150, 280), changes);
    const Topology found = discovered_beside(device, {"l2", "device_memory", "shared"});
    const Status beyond = changes ? Status::inconclusive : Status::measured;
    EXPECT_EQ(found.find("l2")->find("latency")->status, beyond);
    EXPECT_EQ(found.find("device_memory")->find("latency")->status, beyond);
    EXPECT_EQ(found.find("shared")->find("latency")->status, Status::measured) << "the SM's clock counts its own";
  }
}

// Programs of more than a few SMs are longer than the slices of this GPU.
class SlicedGpu final : public device::Device {
 public:
  explicit SlicedGpu(const Json& model) : device_(device_of(model)) {}
  const device::DeviceInfo& info() const override { return device_->info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    auto traces = device_->run(batch);
    if (!traces) return traces;
    constexpr std::size_t most_sms = 4;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const bool is_look = batch[i].label.find("as others find them") != std::string::npos;
      looks_ += is_look ? 1 : 0;
      if (is_look && batch[i].agents.size() > most_sms) (*traces)[i].interruptions.switches = 1;
    }
    return traces;
  }
  int looks() const { return looks_; }

 private:
  std::unique_ptr<device::Device> device_;
  int looks_ = 0;
};

TEST(BesideATurnTaker, WhoSharesAnL2IsAskedOfAsManySmsAsFitASlice) {
  Json model = model_beside(150, 280);
  model["gpu"]["sm_count"] = 12;
  model["caches"]["l2"]["size"] = "4 MiB";
  SlicedGpu device(model);
  experiments::DiscoverOptions options;
  options.only = {"l2"};
  const auto found = experiments::discover(device, options);
  ASSERT_TRUE(found) << found.error().message;
  const Memory& l2 = *found->find("l2");
  EXPECT_EQ(l2.structure.at("l2_sides").value, "1") << l2.structure.at("l2_sides").note;
  EXPECT_GT(device.looks(), 4);
}

// A nearer cache's cycles don't change with a clock that drops, what lies behind takes fewer: no repeated load's alone
// excludes one. But such a cache's lines aren't near and far.
TEST(ADroppedClock, HidesNoL1WhereRepeatedLoadsAreAsNearOrFarAsTheirLines) {
  Json model = model_beside(150, 280);
  model["clock"] = {{{"at_us", 50}, {"khz", 800000}}};
  const auto l1_found = [&] {
    const Topology found = discovered_beside(*device_of(model), {"l1"});
    const Estimate* size = found.find("l1")->find("size");
    return size == nullptr ? Status::inconclusive : size->status;
  };
  EXPECT_EQ(l1_found(), Status::inconclusive);
  model["caches"]["l2"]["partitions"] = {{"count", 2}, {"mode", "home"}, {"interleave", "4 KiB"}};
  model["groups"] = {{"partition", 2}};
  for (const char* path : {"global_cached", "global_l2_only"}) model["paths"][path][0]["far_latency"] = 220;
  EXPECT_EQ(l1_found(), Status::not_supported);
}

// Distances of lines are larger than levels may be apart: held against each other line by line, two looks at one tell
// whether anything kept it.
TEST(DistantMemory, HasNoL2WhereALinesSecondLookTakesAsLongAsItsFirst) {
  Json model = model_beside(300, 320);
  model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 4}};
  model["distance"] = {{"sm", 36}, {"count", 93}};
  model["noise"] = {{"jitter", "gaussian"}, {"cycles", 2}, {"seed", 3}};
  const auto found = [&](const Json& beyond) {
    model["paths"]["global_l2_only"] = beyond;
    model["paths"]["global_cached"] = beyond;
    model["paths"]["global_cached"].insert(model["paths"]["global_cached"].begin(), level("l1", 276));
    return discovered_beside(*device_of(model), {"l1", "l2"});
  };
  const Topology without = found(Json::array({level("device_memory", 320)}));
  EXPECT_EQ(without.find("l2")->find("size")->status, Status::not_supported);
  EXPECT_EQ(without.find("l1")->find("latency")->status, Status::measured);
  const Topology with = found(Json::array({level("l2", 304), level("device_memory", 320)}));
  const Estimate* size = with.find("l2")->find("size");
  EXPECT_TRUE(size == nullptr || size->status != Status::not_supported);
}

// Turns so short that a slow SM can't look at a cache for as long as it usually is.
TEST(BesideATenant, ItIsNoticedBetweenTurnsAtASlowClock) {
  Json model = model_beside(200, 320);
  model["caches"].update({{"constant", {{"size", 4096}, {"line", 64}, {"ways", 4}}}});
  model["paths"]["constant"] = {level("constant", 40), level("l2", 200), level("device_memory", 320)};
  model["gpu"]["clock_khz"] = 1000000;
  model["clock"] = {{{"at_us", 1000}, {"khz", 522199}}};
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 0.2}, {"slow_share", 0}, {"slow_cycles", {40, 100}}};
  model["neighbour"] = {{"slice_us", 1000}, {"away_us", {300, 2600}}, {"l2_share", 0}};
  model["noise"] = {{"seed", 1}};
  const Topology found = discovered_beside(*device_of(model), {"constant_l1"});
  const Estimate& size = *found.find("constant_l1")->find("size");
  EXPECT_TRUE(size.status != Status::measured || (size.interval->low <= 4096 && size.interval->high >= 4096))
      << *size.value;
}

TEST(BesideATenant, LatenciesLeaveOutItsWaits) {
  Json model = model_beside(150, 280);
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 0}, {"slow_share", 0.23}, {"slow_cycles", {55, 82}}};
  const Topology found = discovered_beside(model);
  EXPECT_THAT(*found.find("l2")->find("latency")->value, DoubleNear(150, 4.5));
  EXPECT_THAT(*found.find("device_memory")->find("latency")->value, DoubleNear(280, 8.4));
}

TEST(BesideATenant, ThatMakesLoadsWaitThereIsNoL1WhereRepeatedOnesWaitAsOften) {
  Json model = model_beside(150, 280);
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 0}, {"slow_share", 0.1}, {"slow_cycles", {30, 60}}};
  EXPECT_EQ(discovered_beside(*device_of(model), {"l1"}).find("l1")->find("size")->status, Status::not_supported);
}

// Sixteen lines: six in seven are gone when they are loaded again.
TEST(BesideATenant, ThatPushesOutNearlyAllBeforeTheyAreLoadedAgainAnL1IsNotDenied) {
  Json model = model_beside(350, 560);
  model["gpu"]["clock_khz"] = 1200000;
  model["caches"]["l2"]["size"] = "512 KiB";
  model["caches"]["l1"] = {{"size", 4096}, {"line", 256}, {"ways", 1}};
  model["paths"]["global_cached"].insert(model["paths"]["global_cached"].begin(), level("l1", 175));
  model["noise"] = {{"jitter", "uniform"}, {"cycles", 2}, {"seed", 25}};
  model["distance"] = {{"slice", 1024}, {"count", 8}, {"slices", 47}};
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 100}, {"slow_share", 0.2}, {"slow_cycles", {5, 20}}};
  const Topology found = discovered_beside(*device_of(model), {"l1"});
  const Estimate* size = found.find("l1")->find("size");
  EXPECT_TRUE(size == nullptr || size->status != Status::not_supported);
}

// Of twelve lines every fifth load finds its own gone.
TEST(BesideATenant, ACacheThatLosesLinesAllTheTimeIsNotTakenForASlowOrSmallOne) {
  Json model = model_beside(150, 280);
  model["caches"]["constant_l1"] = {{"size", 1536}, {"line", 128}, {"sector", 64},
                                    {"sets", 4},    {"ways", 3},   {"replacement", "fifo"}};
  model["paths"]["constant"] = {level("constant_l1", 30), level("l2", 190), level("device_memory", 320)};
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 16}, {"slow_share", 0.1}, {"slow_cycles", {30, 80}}};
  const Topology found = discovered_beside(model);
  const Memory& l1 = *found.find("constant_l1");
  const Estimate& latency = *l1.find("latency");
  if (latency.value) {
    EXPECT_THAT(*latency.value, DoubleNear(30, 1.5));
  }
  EXPECT_THAT(l1.find("size")->status, AnyOf(Status::inconclusive, Status::lower_bound));
}

// On some SMs it is, on others it isn't: a size is the same everywhere.
TEST(BesideATenant, ACacheThatLosesLinesOnSomeSmsIsNoSmallOne) {
  Json model = model_beside(150, 280);
  model["gpu"]["sm_count"] = 14;
  model["caches"]["constant_l1"] = {{"size", 2048}, {"line", 64}, {"ways", 2}};
  model["paths"]["constant"] = {level("constant_l1", 30), level("l2", 190), level("device_memory", 320)};
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 95}, {"sms", {1, 3, 4, 5, 7, 10, 11}}};
  const Estimate size = *discovered_beside(model).find("constant_l1")->find("size");
  EXPECT_THAT(size.status, AnyOf(Status::inconclusive, Status::lower_bound));
}

// While nothing is loaded it brings in more than any one load meets.
TEST(BesideATenant, AnL2OfManyLinesThatLosesSomeIsNoSmallOne) {
  Json model = model_beside(150, 280);
  model["caches"]["l2"]["size"] = "1536 KiB";
  model["caches"]["l2"]["line"] = 32;
  model["tenant"] = {{"l2_lines_per_us", 104}, {"sm_lines_per_us", 0}};
  const Estimate size = *discovered_beside(model).find("l2")->find("measured_size");
  EXPECT_THAT(size.status, AnyOf(Status::inconclusive, Status::lower_bound));
}

TEST(BesideATenant, RepeatedLoadsThatTheL2AnswersAreNoL1) {
  Json model = model_beside(236, 382);
  model["caches"]["l2"]["size"] = "176 KiB";
  model["caches"]["l2"]["ways"] = 11;
  model["tenant"] = {{"l2_lines_per_us", 67}, {"sm_lines_per_us", 0}, {"slow_share", 0.37}, {"slow_cycles", {53, 71}}};
  const Topology found = discovered_beside(model);
  for (const auto& [name, estimate] : found.find("l1")->attributes) EXPECT_FALSE(estimate.value) << name;
}

// The second look at a line comes from memory like the first.
TEST(BesideATenant, LinesThatAreGoneBeforeTheSecondLookDontMakeTwoL2sOne) {
  Json model = model_beside(150, 167);
  model["gpu"]["clock_khz"] = 862000;
  model["caches"]["l2"] = {{"size", 134400}, {"line", 256}, {"sector", 128},
                           {"sets", 25},     {"ways", 21},  {"shared_by", {{"interleaved", 2}}}};
  model["tenant"] = {{"l2_lines_per_us", 120}, {"sm_lines_per_us", 0}, {"slow_share", 0}, {"slow_cycles", {1, 2}}};
  const auto device = device_of(model);
  experiments::DiscoverOptions options;
  options.only = {"l2"};
  const auto found = experiments::discover(*device, options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->find("l2")->structure.at("scope").status, Status::inconclusive);
}

// A cycle of the clock more or less is where a quarter of loads lies by chance: that of single loads was one less than
// that of laps, which then seemed to have lost lines.
TEST(Latency, IsThatOfLapsWhateverCycleAQuarterOfSingleLoadsEndsIn) {
  for (int seed = 1; seed <= 12; ++seed) {
    Json model = model_beside(200, 500);
    model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}};
    model["paths"]["global_cached"] = {level("l1", 39), level("l2", 200), level("device_memory", 500)};
    model["noise"] = {{"jitter", "gaussian"}, {"cycles", 0.7}, {"seed", seed}};
    const Topology found = discovered_beside(*device_of(model), {"l1"});
    const Estimate& latency = found.find("l1")->attributes.at("latency");
    EXPECT_EQ(latency.method, "undisturbed_laps") << seed;
    EXPECT_THAT(latency.value, testing::Optional(DoubleNear(39, 0.5))) << seed;
  }
}

// All laps take 4500 loads of 360 cycles, at 1 GHz longer than any slice.
TEST(BesideAProcessInTurns, LatenciesTakeAsManyLapsAsFitIntoASlice) {
  Json model = model_beside(360, 500);
  model["neighbour"] = {{"slice_us", {1000, 1200}}, {"away_us", {1500, 1600}}, {"l2_share", 0}};
  const auto device = device_of(model);
  const Topology found = discovered_beside(*device, {"device_memory", "l2"});
  const Estimate& latency = *found.find("device_memory")->find("latency");
  ASSERT_EQ(latency.status, Status::measured) << latency.note;
  EXPECT_THAT(*latency.value, DoubleNear(500, 5));
  ASSERT_TRUE(found.provenance.interruptions);
  EXPECT_GT(found.provenance.interruptions->switches, 0U);
}

}  // namespace
}  // namespace gputopo
