// A constant L1.5 behind L1s that were once in the way of it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

using Json = nlohmann::json;

Topology behind(const Json& l1, bool is_there, const Json& besides) {
  Json constants = {{{"level", "constant_l1"}, {"latency", 90}},
                    {{"level", "l2"}, {"latency", 172}},
                    {{"level", "device_memory"}, {"latency", 290}}};
  if (is_there) constants.insert(constants.begin() + 1, Json{{"level", "constant_l1_5"}, {"latency", 136}});
  const Json global = {{{"level", "l2"}, {"latency", 180}}, {{"level", "device_memory"}, {"latency", 300}}};
  Json caches = {{"constant_l1", l1}, {"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}};
  if (is_there) caches["constant_l1_5"] = {{"size", 6144}, {"line", 256}, {"ways", 3}};
  Json model{{"schema", "gputopo-model/1"},
             {"gpu", {{"name", "Constants"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
             {"caches", caches},
             {"paths", {{"constant", constants}, {"global_cached", global}, {"global_l2_only", global}}}};
  model.update(besides);
  auto parsed = sim::parse_model(model.dump(), "constants");
  EXPECT_TRUE(parsed) << parsed.error().message;
  const auto device = sim::make_device(std::move(*parsed));
  experiments::DiscoverOptions options;
  options.only = {"constant_l1", "constant_l1_5"};
  options.extras = false;
  const auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found;
}

Memory l1_5_behind(const Json& l1, bool is_there, const Json& besides = Json::object()) {
  return *behind(l1, is_there, besides).find("constant_l1_5");
}

// There are no more than half as many constants again as it holds, so that a count of what is held of more says little;
// how its sets overflow does, whatever strangers add.
TEST(ConstantL15, ThatHoldsMostOfABankIsToldBesideStrangers) {
  const Json l1 = {{"size", 1024}, {"line", 64}, {"ways", 16}};
  constexpr double size = 45056;
  const Json caches = {{"constant_l1", l1},
                       {"constant_l1_5", {{"size", size}, {"line", 128}, {"ways", 11}}},
                       {"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}};
  for (const double share : {0.0, 0.012, 0.02}) {
    const Json noise = {{"outlier_probability", share}, {"outlier_cycles", {66, 552}}, {"seed", 36}};
    const Memory found = l1_5_behind(l1, true, {{"caches", caches}, {"noise", noise}});
    const Estimate& said = *found.find("size");
    EXPECT_EQ(said.status, Status::measured) << share << said.note;
    EXPECT_EQ(said.value, size) << share;
  }
}

// It has any of a circle's lines most of the time, so that the most of the looks at each are its own hits.
TEST(ConstantL15, IsToldBehindAnL1ThatReplacesAtRandom) {
  const Json l1 = {{"size", 1216}, {"line", 32}, {"ways", 19}, {"replacement", "random"}};
  const Memory found = l1_5_behind(l1, true);
  ASSERT_NE(found.find("size"), nullptr);
  EXPECT_EQ(found.find("size")->status, Status::measured) << found.find("size")->note;
  EXPECT_EQ(found.find("size")->value, 6144);
  EXPECT_EQ(l1_5_behind(l1, false).find("size")->status, Status::not_supported);
}

const Json plain_l1 = {{"size", 1024}, {"line", 64}, {"ways", 16}};

// Constants of one bank that leave half of a small L2 as it is don't push anything out: of another one, or code, half
// as much again does.
TEST(ConstantL15, IsToldThoughItIsHalfAsLargeAsTheL2) {
  Json cache = {{"size", "64 KiB"}, {"line", 64}, {"ways", 8}};
  Json l2 = {{"size", "128 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}};
  const auto level = [](const char* id, double cycles) { return Json{{"level", id}, {"latency", cycles}}; };
  const Json beyond = {level("l2", 180), level("device_memory", 300)};
  Json besides = {
      {"caches", {{"constant_l1", plain_l1}, {"constant_l1_5", cache}, {"l2", l2}}},
      {"paths",
       {{"constant",
         {level("constant_l1", 90), level("constant_l1_5", 136), level("l2", 172), level("device_memory", 290)}},
        {"global_cached", beyond},
        {"global_l2_only", beyond}}}};
  for (const bool code_passes_it : {false, true}) {
    if (code_passes_it) {
      besides["execution"] = {{"cycles_per_instruction", 4}, {"instruction", 8}};
      besides["paths"]["instruction"] = {level("constant_l1_5", 40), level("l2", 180), level("device_memory", 300)};
      besides["limits"] = {{"constant_modules", 1}};
    }
    const Memory found = l1_5_behind(plain_l1, true, besides);
    ASSERT_NE(found.find("latency"), nullptr);
    EXPECT_NEAR(found.find("latency")->value.value_or(0), 136, 2) << found.find("latency")->note;
  }
}

// Of a bank of 64 KiB two lines lie behind what fits: no more of them are asked for.
TEST(ConstantL15, ThatEndsRightBeforeABankIsAtLeastWhatFits) {
  const auto level = [](const char* id, double cycles) { return Json{{"level", id}, {"latency", cycles}}; };
  const Json beyond = {level("l2", 220), level("device_memory", 520)};
  const Json caches = {{"constant_l1", {{"size", "2 KiB"}, {"line", 64}, {"ways", 4}}},
                       {"constant_l1_5", {{"size", 65280}, {"line", 128}, {"ways", 2}}},
                       {"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}};
  const Json paths = {
      {"constant",
       {level("constant_l1", 40), level("constant_l1_5", 90), level("l2", 255), level("device_memory", 550)}},
      {"global_cached", beyond},
      {"global_l2_only", beyond}};
  const Memory found = l1_5_behind(plain_l1, true, {{"caches", caches}, {"paths", paths}});
  ASSERT_EQ(found.find("size")->status, Status::lower_bound) << found.find("size")->note;
  EXPECT_EQ(found.find("size")->value, 65280);
}

// What pushes constants out of all that there may be takes longer than a neighbour leaves; what does of the L2 alone
// doesn't.
TEST(ConstantL15, IsToldToBeAbsentByAsMuchAsANeighbourLeavesTimeFor) {
  const Json beside = {
      {"neighbour", {{"away_us", {600, 1200}}, {"l2_share", 0.25}, {"slice_us", {2500, 3500}}}},
      {"caches",
       {{"constant_l1", plain_l1}, {"l2", {{"size", "4 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}}};
  const Memory found = l1_5_behind(plain_l1, false, beside);
  EXPECT_EQ(found.find("size")->status, Status::not_supported) << found.find("size")->note;
}

// Some lines of the L2 are slower than others, at every look: nobody delays them.
TEST(ConstantL15, IsToldToBeAbsentWhereLinesLieAtSeveralDistances) {
  const Memory found = l1_5_behind(plain_l1, false, {{"distance", {{"slices", 24}, {"slice", 128}}}});
  EXPECT_EQ(found.find("size")->status, Status::not_supported) << found.find("size")->note;
}

void expect_to_hold(const Estimate& said, double truth) {
  ASSERT_TRUE(said.interval) << said.note;
  EXPECT_LE(said.interval->low, truth);
  EXPECT_GE(said.interval->high, truth);
}

// What the L1 lost lies in one slice of the L2, and elsewhere its misses are as far as the L2's own lines are.
TEST(ConstantL15, WhereNoneIsTheL1sPenaltyHoldsAnyPlaceOfTheL2) {
  for (int seed = 1; seed <= 5; ++seed) {
    const Json distance = {{"distance", {{"slices", 18.6}, {"slice", 8192}}}, {"noise", {{"seed", seed}}}};
    const Topology found = behind(plain_l1, false, distance);
    EXPECT_EQ(found.find("constant_l1_5")->find("size")->status, Status::not_supported);
    expect_to_hold(*found.find("constant_l1")->find("miss_penalty"), 172 - 90);
  }
}

// One that all SMs share has slices as the L2 does: the swiftest of its hits are those of one.
TEST(ConstantL15, ThatLiesAtDistancesTakesWhatAllOfItDoes) {
  const Json caches = {{"constant_l1", plain_l1},
                       {"constant_l1_5", {{"size", 9216}, {"line", 128}, {"ways", 8}, {"scope", "gpu"}}},
                       {"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}};
  const Json far = {{"slices", 20}, {"slice", 256}}, near = {{"slices", 4.4}, {"steps", 8}};
  for (const Json& distance : {far, near})
    for (int seed = 1; seed <= 3; ++seed) {
      const Json noise = {{"seed", seed}};
      const Topology found = behind(plain_l1, true, {{"caches", caches}, {"distance", distance}, {"noise", noise}});
      expect_to_hold(*found.find("constant_l1_5")->find("latency"), 136);
      expect_to_hold(*found.find("constant_l1")->find("miss_penalty"), 136 - 90);
    }
}

// What a tenant delays of a cache that all SMs share is no line farther away.
TEST(ConstantL15, IsNoFartherWhereOthersDelayItsLoads) {
  const Json caches = {{"constant_l1", plain_l1},
                       {"constant_l1_5", {{"size", 9216}, {"line", 128}, {"ways", 8}, {"scope", "gpu"}}},
                       {"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}};
  const Json tenant = {{"l2_lines_per_us", 1}, {"slow_share", 0.4}, {"slow_cycles", {5, 100}}};
  const Json noise = {{"outlier_probability", 0.02}, {"outlier_cycles", {20, 200}}};
  const auto level = [](const char* id, double cycles) { return Json{{"level", id}, {"latency", cycles}}; };
  const Json beyond = {level("l2", 276), level("device_memory", 411)};
  const Json constants = {level("constant_l1", 90), level("constant_l1_5", 136), level("l2", 286),
                          level("device_memory", 421)};
  const Json paths = {{"constant", constants}, {"global_cached", beyond}, {"global_l2_only", beyond}};
  const Topology found =
      behind(plain_l1, true, {{"caches", caches}, {"paths", paths}, {"tenant", tenant}, {"noise", noise}});
  const Estimate& latency = *found.find("constant_l1_5")->find("latency");
  ASSERT_TRUE(latency.interval) << latency.note;
  expect_to_hold(latency, 136);
  EXPECT_LT(latency.interval->high - latency.interval->low, 20);
  EXPECT_EQ(found.find("constant_l1_5")->find("miss_penalty")->status, Status::inconclusive) << "its hits wait as well";
}

// Another program does, and whether it empties a cache behind the L1 isn't known.
TEST(ConstantL15, IsOpenWhereAnotherProgramMayHaveEmptiedIt) {
  const Json tenant = {{"l2_lines_per_us", 1}, {"sm_lines_per_us", 90}, {"slow_share", 0.2}, {"slow_cycles", {20, 60}}};
  EXPECT_EQ(l1_5_behind(plain_l1, true, {{"tenant", tenant}}).find("size")->status, Status::inconclusive);
}

// What it loses takes as much longer as the other side of an L2 that keeps copies: it still answers once that L2 lost
// everything.
TEST(ConstantL15, IsToldThoughWhatItLosesMayBeOfTheOtherSide) {
  const auto level = [](const char* id, double near, double far) {
    return Json{{"level", id}, {"latency", near}, {"far_latency", far}};
  };
  const Json beyond = {level("l2", 368, 462), level("device_memory", 485, 532)};
  const Json l1_5 = {{"size", 32768}, {"line", 128}, {"sector", 64}, {"ways", 16}};
  const Json l2 = {{"size", 425984},
                   {"line", 64},
                   {"ways", 13},
                   {"scope", "gpu"},
                   {"partitions", {{"count", 2}, {"mode", "near_copy"}, {"interleave", "8 KiB"}}}};
  const Memory found = l1_5_behind(plain_l1, true,
                                   {{"caches", {{"constant_l1", plain_l1}, {"constant_l1_5", l1_5}, {"l2", l2}}},
                                    {"groups", {{"partition", 2}}},
                                    {"paths",
                                     {{"constant",
                                       {{{"level", "constant_l1"}, {"latency", 60}},
                                        {{"level", "constant_l1_5"}, {"latency", 115}},
                                        level("l2", 221, 315),
                                        level("device_memory", 339, 386)}},
                                      {"global_cached", beyond},
                                      {"global_l2_only", beyond}}}});
  ASSERT_EQ(found.find("latency")->status, Status::measured) << found.find("latency")->note;
  EXPECT_NEAR(*found.find("latency")->value, 115, 1);
  EXPECT_EQ(found.find("size")->value.value_or(0), 32768) << found.find("size")->note;
  EXPECT_EQ(found.find("line_size")->value.value_or(0), 128) << found.find("line_size")->note;
  EXPECT_EQ(found.find("sector_size")->value.value_or(0), 64) << found.find("sector_size")->note;
}

}  // namespace
}  // namespace gputopo
