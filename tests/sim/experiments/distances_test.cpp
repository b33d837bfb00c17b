// Levels behind an L2 whose slices lie as far apart as these do, or further: no latency tells a near line of the next
// level from a far one of this.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

struct Distances : testing::Test {
  Json model{{"schema", "gputopo-model/1"},
             {"gpu", {{"name", "Distances"}, {"sm_count", 6}, {"memory", "2 GiB"}, {"clock_khz", 1000000}}},
             {"noise", {{"seed", 5}}},
             {"caches",
              {{"l1", {{"size", 8192}, {"line", 128}, {"ways", 4}}},
               {"l2", {{"size", "192 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}}};

  void reach(Json beyond) {
    model["paths"] = {{"global_l2_only", beyond}};
    const Json l1 = {{"level", "l1"}, {"latency", 30}};
    beyond.insert(beyond.begin(), l1);
    model["paths"]["global_cached"] = std::move(beyond);
  }
  void put_behind(double hit, double behind, double memory, const char* size, const char* replacement) {
    model["caches"]["l3"] = {{"size", size}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}};
    model["caches"]["l3"]["replacement"] = replacement;
    reach({{{"level", "l2"}, {"latency", hit}},
           {{"level", "l3"}, {"latency", behind}},
           {{"level", "device_memory"}, {"latency", memory}}});
  }
  Topology found() {
    const auto parsed = sim::parse_model(model.dump(), "distances");
    EXPECT_TRUE(parsed) << parsed.error().message;
    const auto device = sim::make_device(*parsed);
    experiments::DiscoverOptions options;
    options.only = {"l2", "device_memory"};
    options.extras = false;
    auto topology = experiments::discover(*device, options);
    EXPECT_TRUE(topology) << topology.error().message;
    return *topology;
  }
};

bool contains(const Estimate& e, double truth) {
  return e.status == Status::measured && e.interval && e.interval->low <= truth && truth <= e.interval->high;
}

// Memory's near lines are as near as the L2's far ones.
TEST_F(Distances, AreNoReasonToLeaveMemorysNearLinesOut) {
  constexpr double hit = 200, penalty = 40;
  reach({{{"level", "l2"}, {"latency", hit}}, {{"level", "device_memory"}, {"latency", hit + penalty}}});
  const Json few = {{"slices", 28}, {"count", 16}, {"slice", 1024}};  // whose own mean is another
  for (const Json& slices : {Json{{"slices", 28}, {"steps", 3}}, Json{{"slices", 28}}, few}) {
    model["distance"] = slices;
    const Topology all = found();
    const Estimate& memory = *all.find("device_memory")->find("latency");
    const Estimate& lost = *all.find("l2")->find("miss_penalty");
    EXPECT_TRUE(contains(lost, penalty)) << slices << lost.value.value_or(0) << lost.note;
    if (slices == few) continue;
    EXPECT_TRUE(contains(memory, hit + penalty)) << slices << memory.value.value_or(0) << memory.note;
  }
}

// Its lines come as soon as the L2's far ones, and count as hits of that.
TEST_F(Distances, DontMakeACacheBehindAPartOfTheL2) {
  put_behind(200, 224, 314, "384 KiB", "random");
  model["distance"] = {{"slices", 28}, {"slice", 256}, {"steps", 3}, {"count", 4}};
  const Topology all = found();
  const Memory& l2 = *all.find("l2");
  EXPECT_TRUE(contains(*l2.find("miss_penalty"), 24)) << l2.find("miss_penalty")->value.value_or(0);
  EXPECT_NE(l2.find("measured_size")->status, Status::measured) << *l2.find("measured_size")->value;
}

// Two L2s with a cache behind them, which lies between these and memory by less than slices do.
TEST_F(Distances, DontMakeSidesOfChiplets) {
  model["caches"]["l2"].update({{"scope", "gpc"}, {"ways", 8}, {"index", "hash"}});
  model["groups"] = {{"gpc", 3}};
  model["distance"] = {{"slices", 10}, {"slice", 8192}, {"steps", 2}};
  put_behind(200, 224, 237, "384 KiB", "random");
  const Topology all = found();
  const Memory& l2 = *all.find("l2");
  EXPECT_NE(l2.structure.at("l2_sides").value, "2");
  EXPECT_FALSE(l2.structure.contains("scope") && l2.structure.at("scope").value == "gpu");
  EXPECT_TRUE(contains(*l2.find("miss_penalty"), 24)) << l2.find("miss_penalty")->value.value_or(0);
}

// Of what an SM's own side lost by chance the other one has much, which is no cache behind both.
TEST_F(Distances, DontMakeACacheBehindOfCopies) {
  model["caches"]["l2"].update({{"size", "256 KiB"}, {"ways", 8}, {"index", "hash"}, {"replacement", "random"}});
  model["caches"]["l2"]["partitions"] = {{"count", 2}, {"mode", "near_copy"}, {"interleave", 4096}};
  model["groups"] = {{"partition", 3}};
  model["distance"] = {{"slices", 10}, {"slice", 512}, {"steps", 3}};
  reach({{{"level", "l2"}, {"latency", 200}, {"far_latency", 224}}, {{"level", "device_memory"}, {"latency", 237}}});
  const Topology all = found();
  const Memory& l2 = *all.find("l2");
  EXPECT_NE(l2.structure.at("l2_sides").value, "1");
  const Estimate& penalty = *l2.find("miss_penalty");
  EXPECT_TRUE(!penalty.value || contains(penalty, 37)) << penalty.value.value_or(0);
}

// What an SM's own side lost another one still has in part, as much nearer than the cache behind as levels are apart.
TEST_F(Distances, KeepCopiesApartFromTheCacheBehindThem) {
  model["groups"] = {{"partition", 3}};
  model["noise"].update({{"jitter", "uniform"}, {"cycles", 1}});
  put_behind(229.5, 364.5, 404, "1 MiB", "not_most_recent");
  model["caches"]["l2"].update({{"size", "128 KiB"}, {"ways", 8}, {"replacement", "not_most_recent"}});
  model["caches"]["l2"]["partitions"] = {{"count", 2}, {"mode", "near_copy"}, {"interleave", 4096}};
  for (auto& [path, levels] : model["paths"].items())
    for (Json& level : levels)
      if (level["level"] == "l2") level["far_latency"] = 347;
  const Topology all = found();
  const Estimate& penalty = *all.find("l2")->find("miss_penalty");
  EXPECT_TRUE(contains(penalty, 135)) << penalty.value.value_or(0) << penalty.note;
}

// Near ones of rows that are a level behind a cache are as near as its far lines.
TEST_F(Distances, DontMakeOpenRowsOfACacheBehind) {
  model["caches"]["l2"].update({{"size", "128 KiB"}, {"index", "hash"}, {"replacement", "fifo"}});
  model["distance"] = {{"sm", 10}, {"slice", 256}, {"steps", 8}};
  model["rows"] = {{"size", 8192}, {"banks", 16}, {"gain", 36}};
  put_behind(200, 240, 288, "1 MiB", "lru");
  const Topology all = found();
  const Estimate& penalty = *all.find("l2")->find("miss_penalty");
  EXPECT_TRUE(contains(penalty, 40)) << penalty.value.value_or(0);
}

// Rows of the slice that was looked at first are farther than hits, and others are not.
TEST_F(Distances, DontHideThatOpenRowsLookLikeFarHits) {
  model["gpu"]["sm_count"] = 4;
  model["caches"]["l2"].update(
      {{"size", "256 KiB"}, {"partitions", {{"count", 2}, {"mode", "home"}, {"interleave", 4096}}}});
  model["groups"] = {{"partition", 2}};
  model["distance"] = {{"slices", 20}, {"slice", 8192}, {"steps", 2}, {"count", 4}};
  model["rows"] = {{"size", 2048}, {"banks", 16}, {"gain", 65}};
  reach({{{"level", "l2"}, {"latency", 200}, {"far_latency", 260}}, {{"level", "device_memory"}, {"latency", 338}}});
  const Topology all = found();
  const Estimate& size = *all.find("l2")->find("measured_size");
  constexpr double truth = 262144;
  EXPECT_TRUE(size.status == Status::inconclusive || contains(size, truth) ||
              (size.status == Status::lower_bound && *size.value <= truth))
      << size.value.value_or(0);
}

}  // namespace
}  // namespace gputopo::test
