// Near and far latency from either side of an L2 of two partitions.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

TEST(L2Sides, SeeTheirOwnPartitionNearAndTheOtherOneFar) {
  auto model = sim::builtin_model("h200");
  ASSERT_TRUE(model) << model.error().message;
  const Topology truth = sim::truth(*model);
  const auto device = sim::make_device(std::move(*model));
  const auto found = experiments::discover(*device, {});
  ASSERT_TRUE(found) << found.error().message;
  const Memory& l2 = *found->find("l2");
  EXPECT_EQ(l2.structure.at("l2_sides").value, "2");
  for (const char* name : {"latency", "far_latency"}) {
    const Estimate* e = l2.find(name);
    ASSERT_NE(e, nullptr) << name;
    const double expected = *truth.find("l2")->find(name)->value;
    EXPECT_NEAR(*e->value, expected, 0.02 * expected) << name;
    ASSERT_TRUE(e->interval);
    EXPECT_LE(e->interval->low, *e->value);
    EXPECT_GE(e->interval->high, *e->value);
  }
}

TEST(L2Sides, AreLeftOutWhereThereIsOne) {
  auto model = sim::builtin_model("v100");
  ASSERT_TRUE(model) << model.error().message;
  const auto device = sim::make_device(std::move(*model));
  const auto found = experiments::discover(*device, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->find("l2")->find("partitions"), nullptr);
  EXPECT_EQ(found->find("l2")->find("far_latency"), nullptr);
}

using Json = nlohmann::json;

// Slices by a hash of 128 B, each 12 % nearer or farther for each SM than for the others.
Topology found_at_distances(std::uint32_t sides, double far_cycles, const char* interleave = "4 KiB",
                            std::uint32_t largest_recording = 16384) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Far"}, {"sm_count", 8}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
                {"caches", {{"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
                {"limits", {{"largest_recording", largest_recording}}},
                {"distance", {{"sm", 36}, {"steps", 3}, {"count", 80}}}};
  Json l2 = {{"level", "l2"}, {"latency", 300}};
  if (sides > 1) {
    model["groups"]["partition"] = {{"interleaved", sides}};
    model["caches"]["l2"]["partitions"] = {{"count", sides}, {"mode", "home"}, {"interleave", interleave}};
    l2["far_latency"] = far_cycles;
  }
  const Json beyond = {l2, {{"level", "device_memory"}, {"latency", 600}}};
  model["paths"] = {{"global_cached", beyond}, {"global_l2_only", beyond}};
  auto parsed = sim::parse_model(model.dump(), "far");
  EXPECT_TRUE(parsed) << parsed.error().message;
  experiments::DiscoverOptions options;
  options.only = {"l2"};
  options.extras = false;
  auto found = experiments::discover(*sim::make_device(std::move(*parsed)), options);
  EXPECT_TRUE(found) << found.error().message;
  return std::move(*found);
}

TEST(L2Sides, AreToldByPagesWhereDistanceHidesThemInLines) {
  // None that show there may be of shorter stretches.
  for (const std::uint32_t sides : {2U, 4U})
    for (const char* interleave : {"512 B", "4 KiB"})
      EXPECT_NE(found_at_distances(sides, 318, interleave).find("l2")->structure.at("l2_sides").value, "1")
          << sides << interleave;
  const Topology two = found_at_distances(2, 348);
  const Memory& l2 = *two.find("l2");
  EXPECT_EQ(l2.structure.at("l2_sides").value, "2") << l2.structure.at("l2_sides").note;
  EXPECT_NEAR(l2.find("latency")->value.value_or(0), 300, 5);
  EXPECT_NEAR(l2.find("far_latency")->value.value_or(0), 348, 5);
  // As many loads as pages have lines can't be recorded on every device.
  EXPECT_EQ(found_at_distances(2, 348, "4 KiB", 1535).find("l2")->structure.at("l2_sides").status,
            Status::inconclusive);
}

// Of one L2 at distances and of one with sides that nothing told: near lines of either, which lie up to 12 % nearer.
TEST(L2Sides, LeaveTheLatencyAnIntervalFromNearLinesToAllWhereTheyAreOpen) {
  for (const std::uint32_t sides : {1U, 2U}) {
    const Topology found = found_at_distances(sides, 348, "4 KiB", 1535);
    const Memory& l2 = *found.find("l2");
    ASSERT_EQ(l2.structure.at("l2_sides").status, Status::inconclusive);
    const Estimate& latency = *l2.find("latency");
    ASSERT_EQ(latency.status, Status::measured) << latency.note;
    EXPECT_GE(*latency.value, 264);
    EXPECT_LE(*latency.value, 302);
    EXPECT_LE(latency.interval->low, 300);
    EXPECT_GE(latency.interval->high, 299);
  }
}

// Lines that the L2 loses between two looks are as far from all SMs, none of them near.
TEST(L2Sides, LatencyIsThatOfLinesThatAreThere) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Lost"}, {"sm_count", 4}, {"memory", "4 GiB"}, {"clock_khz", 800000}}},
                {"groups", {{"partition", {{0, 1}, {2, 3}}}}}};
  model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}};
  model["caches"]["l2"] = {{"size", 147456}, {"line", 256},
                           {"ways", 12},     {"replacement", "tree_plru"},
                           {"scope", "gpu"}, {"partitions", {{"count", 2}, {"mode", "home"}}}};
  model["paths"]["global_cached"] = {{{"level", "l1"}, {"latency", 40}},
                                     {{"level", "l2"}, {"latency", 200}, {"far_latency", 300}},
                                     {{"level", "device_memory"}, {"latency", 600}}};
  auto parsed = sim::parse_model(model.dump(), "lost");
  ASSERT_TRUE(parsed) << parsed.error().message;
  experiments::DiscoverOptions options;
  options.only = {"l2"};
  options.extras = false;
  const auto found = experiments::discover(*sim::make_device(std::move(*parsed)), options);
  ASSERT_TRUE(found) << found.error().message;
  const Estimate& latency = *found->find("l2")->find("latency");
  ASSERT_EQ(latency.status, Status::measured) << latency.note;
  EXPECT_NEAR(*latency.value, 200, 1);
}

// Lines beside those that one looks at lie in a row that is open, and come nearly as soon as hits and memory are apart.
TEST(L2Sides, AreToldWhereMemorysRowsStayOpen) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Rows"}, {"sm_count", 4}, {"memory", "2 GiB"}, {"clock_khz", 1300000}}},
                {"caches", {{"l2", {{"size", "256 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
                {"noise", {{"jitter", "uniform"}, {"cycles", 2}}},
                {"rows", {{"banks", 16}, {"size", "8 KiB"}, {"gain", 32}}}};
  const Json beyond = {{{"level", "l2"}, {"latency", 305}}, {{"level", "device_memory"}, {"latency", 367}}};
  model["paths"] = {{"global_cached", beyond}, {"global_l2_only", beyond}};
  auto parsed = sim::parse_model(model.dump(), "rows");
  ASSERT_TRUE(parsed) << parsed.error().message;
  experiments::DiscoverOptions options;
  options.only = {"l2"};
  const auto found = experiments::discover(*sim::make_device(std::move(*parsed)), options);
  ASSERT_TRUE(found) << found.error().message;
  const auto& sides = found->find("l2")->structure.at("l2_sides");
  EXPECT_EQ(sides.value, "1") << sides.note;
}

// What a miss of an L2 costs, with these levels on the way.
Estimate penalty_of(Json l2, Json levels, Json behind = {}) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Behind"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
                {"caches", {{"l2", std::move(l2)}}},
                {"noise", {{"jitter", "gaussian"}, {"cycles", 1}}},
                {"paths", {{"global_cached", levels}, {"global_l2_only", levels}}}};
  if (model["caches"]["l2"].contains("partitions")) model["groups"]["partition"] = {{0, 1}, {2, 3}};
  if (!behind.is_null()) model["caches"]["l3"] = std::move(behind);
  auto parsed = sim::parse_model(model.dump(), "behind");
  EXPECT_TRUE(parsed) << parsed.error().message;
  const auto device = sim::make_device(std::move(*parsed));
  std::vector<DecidingCurve> curves;
  experiments::DiscoverOptions options;
  options.curves = &curves;
  const auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found) << found.error().message;
  const Estimate penalty = *found->find("l2")->find("miss_penalty");
  const bool has_curve = std::any_of(curves.begin(), curves.end(), [](const DecidingCurve& c) {
    return c.memory == "l2" && c.quantity == "miss_penalty" && c.series.size() == 2 && !c.series.front().points.empty();
  });
  EXPECT_EQ(has_curve, penalty.has_value()) << penalty.note;
  return penalty;
}

Json l2_with(const char* replacement) {
  return {{"size", "512 KiB"}, {"line", 128},    {"sector", 32},
          {"ways", 16},        {"scope", "gpu"}, {"replacement", replacement}};
}

// The fence of hits that lie near and far is beyond memory, of what replaces at random a fifth is left.
TEST(L2Penalty, IsMemorysHoweverHitsAreSpreadOrLeft) {
  Json sides = l2_with("lru");
  sides["partitions"] = {{"count", 2}, {"interleave", "8 KiB"}, {"mode", "home"}};
  const Estimate of_sides = penalty_of(sides, {{{"level", "l2"}, {"latency", 221}, {"far_latency", 346}},
                                               {{"level", "device_memory"}, {"latency", 370}}});
  EXPECT_EQ(of_sides.status, Status::measured) << of_sides.note;
  EXPECT_NEAR(of_sides.value.value_or(0), 149, 5);
  const Estimate at_random = penalty_of(
      l2_with("random"), {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 230}}});
  EXPECT_EQ(at_random.status, Status::measured) << at_random.note;
  EXPECT_NEAR(at_random.value.value_or(0), 30, 2);
}

Estimate penalty_in(const Json& model) {
  auto parsed = sim::parse_model(model.dump(), "penalty");
  EXPECT_TRUE(parsed) << parsed.error().message;
  experiments::DiscoverOptions options;
  options.only = {"l1", "l2", "device_memory"};
  options.extras = false;
  const auto found = experiments::discover(*sim::make_device(std::move(*parsed)), options);
  EXPECT_TRUE(found) << found.error().message;
  return *found->find("l2")->find("miss_penalty");
}

// One line in four is near, too few for a level of their own beside those that are far by less than slices lie apart.
TEST(L2Penalty, IsThatOfNearLinesOfFourSides) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Four"}, {"sm_count", 4}, {"memory", "2 GiB"}, {"clock_khz", 1700000}}},
                {"groups", {{"partition", {{0}, {1}, {2}, {3}}}}},
                {"distance", {{"slice", 128}, {"slices", 6}}}};
  model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 4}};
  model["caches"]["l2"] = l2_with("lru");
  model["caches"]["l2"]["index"] = "hash";
  model["caches"]["l2"]["partitions"] = {{"count", 4}, {"mode", "home"}, {"interleave", "4 KiB"}};
  model["paths"]["global_cached"] = {{{"level", "l1"}, {"latency", 35}},
                                     {{"level", "l2"}, {"latency", 200}, {"far_latency", 235}},
                                     {{"level", "device_memory"}, {"latency", 450}, {"far_latency", 480}}};
  const Estimate penalty = penalty_in(model);
  ASSERT_EQ(penalty.status, Status::measured) << penalty.note;
  EXPECT_NEAR(*penalty.value, 250, 3);
}

// Rows that stay open leave nothing but both latencies to tell it by: memory of all lines against hits of all.
TEST(L2Penalty, IsThatOfAllLinesWhereSidesAreDealtOutFinely) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Fine"}, {"sm_count", 6}, {"memory", "8 GiB"}, {"clock_khz", 1980000}}},
                {"groups", {{"partition", {{"interleaved", 4}}}, {"gpc", 3}}},
                {"rows", {{"size", 8192}, {"banks", 16}, {"gain", 20}}}};
  model["caches"]["l2"] = l2_with("lru");
  model["caches"]["l2"].update({{"size", 524288}, {"line", 64}, {"sector", 64}, {"ways", 32}, {"index", "hash"}});
  model["caches"]["l2"]["partitions"] = {{"count", 4}, {"mode", "home"}, {"interleave", 256}};
  model["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 91}, {"far_latency", 118}},
                                     {{"level", "device_memory"}, {"latency", 233}, {"far_latency", 260}}};
  const Estimate penalty = penalty_in(model);
  ASSERT_TRUE(penalty.has_value()) << penalty.note;
  EXPECT_NEAR(*penalty.value, 142, 3);
}

// Where jitter is as wide as sides lie apart no gap shows them: then all that is known is that near ones take no
// longer.
TEST(L2Penalty, IsABoundWhereWhatWasLostIsNearAndFarAndNothingTellsWhich) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Four"}, {"sm_count", 6}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
                {"groups", {{"partition", {{0, 1}, {2, 3}, {4}, {5}}}}},
                {"noise", {{"jitter", "gaussian"}, {"cycles", 2}}}};
  model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 4}};
  model["caches"]["l2"] = l2_with("random");
  model["caches"]["l2"]["size"] = "160 KiB";
  model["caches"]["l2"]["ways"] = 10;
  model["caches"]["l2"]["partitions"] = {{"count", 4}, {"mode", "home"}};
  model["paths"]["global_cached"] = {{{"level", "l1"}, {"latency", 35}},
                                     {{"level", "l2"}, {"latency", 150}, {"far_latency", 162}},
                                     {{"level", "device_memory"}, {"latency", 178}, {"far_latency", 190}}};
  const Estimate penalty = penalty_in(model);
  if (penalty.status == Status::measured) {
    EXPECT_NEAR(*penalty.value, 28, 3);
  } else {
    EXPECT_EQ(penalty.status, Status::upper_bound) << penalty.note;
    EXPECT_GE(penalty.value.value_or(0), 28);
  }
}

// It keeps lines that were loaded before much else, and a TLB has lost their translations by then.
TEST(L2Penalty, IsNotThatOfATlb) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Pages"}, {"sm_count", 4}, {"memory", "4 GiB"}, {"clock_khz", 1500000}}}};
  model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}};
  model["caches"]["l2"] = {
      {"size", "128 KiB"}, {"line", 128}, {"ways", 8}, {"replacement", "not_most_recent"}, {"shared_by", 2}};
  for (const int penalty : {100, 500}) {
    model["tlbs"]["t1"] = {{"page", 16384}, {"entries", 100}, {"miss_penalty", penalty}, {"replacement", "lru"}};
    model["paths"]["global_cached"] = {{{"level", "l1"}, {"latency", 40}},
                                       {{"level", "l2"}, {"latency", 200}, {"tlbs", {"t1"}}},
                                       {{"level", "device_memory"}, {"latency", 400}}};
    const Estimate found = penalty_in(model);
    if (found.status == Status::measured) {
      EXPECT_NEAR(*found.value, 200, 3);
    }
  }
}

// Of memory's lines, looked at a few times each, nearly all are faster than the slowest loads of the cache between.
TEST(L2Penalty, IsThatOfACacheBetweenWhoseLoadsOverlapWithMemorys) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Near"}, {"sm_count", 3}, {"memory", "4 GiB"}, {"clock_khz", 2100000}}},
                {"noise", {{"jitter", "uniform"}, {"cycles", 3}}}};
  model["caches"]["l1"] = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}};
  model["caches"]["l2"] = {{"size", "128 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}};
  model["caches"]["l3"] = {
      {"size", "384 KiB"}, {"line", 128}, {"ways", 12}, {"replacement", "not_most_recent"}, {"scope", "gpu"}};
  model["paths"]["global_cached"] = {{{"level", "l1"}, {"latency", 20}},
                                     {{"level", "l2"}, {"latency", 23}},
                                     {{"level", "l3"}, {"latency", 31.69}},
                                     {{"level", "device_memory"}, {"latency", 41.2}}};
  const Estimate penalty = penalty_in(model);
  ASSERT_EQ(penalty.status, Status::measured) << penalty.note;
  EXPECT_NEAR(*penalty.value, 8.7, 1.5);
}

// Of lines at distances of 14 %, memory's near ones are as fast as many of the cache behind: no row of DRAM was open.
TEST(L2Penalty, IsThatOfACacheBehindAtDistancesInSteps) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Steps"}, {"sm_count", 7}, {"memory", "4 GiB"}, {"clock_khz", 1530000}}},
                {"noise", {{"jitter", "gaussian"}, {"cycles", 1.3}}},
                {"distance", {{"slice", 256}, {"slices", 6.2}, {"count", 0}, {"steps", 4}}}};
  model["caches"]["l1"] = {{"size", 10752}, {"line", 256}, {"ways", 14}};
  model["caches"]["l2"] = {{"size", 164864}, {"line", 256}, {"ways", 14}, {"index", "xor"}, {"scope", "gpu"}};
  model["caches"]["l2"]["replacement"] = "not_most_recent";
  model["caches"]["l3"] = {{"size", 1210368}, {"line", 256}, {"ways", 24}, {"scope", "gpu"}};
  model["paths"]["global_cached"] = {{{"level", "l1"}, {"latency", 33}},
                                     {{"level", "l2"}, {"latency", 44.26}},
                                     {{"level", "l3"}, {"latency", 64}},
                                     {{"level", "device_memory"}, {"latency", 74}}};
  const Estimate penalty = penalty_in(model);
  if (penalty.status == Status::measured) {
    EXPECT_NEAR(*penalty.value, 19.74, 2) << penalty.note;
  } else {
    EXPECT_NE(penalty.status, Status::lower_bound) << penalty.note;
  }
}

// Stretches of 256 KiB lie on one side, and all the hits that are timed on the other one.
TEST(L2Penalty, IsNotAllThatMemoryTakesWhereNoHitIsNear) {
  Json model = {{"schema", "gputopo-model/1"},
                {"gpu", {{"name", "Stretches"}, {"sm_count", 4}, {"memory", "2 GiB"}, {"clock_khz", 1500000}}},
                {"groups", {{"partition", 2}}}};
  model["caches"]["l2"] = l2_with("lru");
  model["caches"]["l2"].update({{"size", "2 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}});
  model["caches"]["l2"]["partitions"] = {{"count", 2}, {"mode", "home"}, {"interleave", "256 KiB"}};
  model["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 203}, {"far_latency", 403}},
                                     {{"level", "device_memory"}, {"latency", 560}}};
  const Estimate penalty = penalty_in(model);
  if (penalty.value) {
    EXPECT_NEAR(*penalty.value, 357, 4) << penalty.note;
  }
}

TEST(L2Penalty, IsNotMemorysWhereACacheIsBetween) {
  const Estimate penalty = penalty_of(l2_with("random"),
                                      {{{"level", "l2"}, {"latency", 200}},
                                       {{"level", "l3"}, {"latency", 212}},
                                       {{"level", "device_memory"}, {"latency", 230}}},
                                      {{"size", "2 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}});
  if (penalty.status == Status::measured) {
    EXPECT_NEAR(*penalty.value, 12, 2);
  }
}

}  // namespace
}  // namespace gputopo
