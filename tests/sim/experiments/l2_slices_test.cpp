// Places of an L2's slices on models whose slices lie at distances of their own, from SM to SM.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

Json sliced_model(std::uint32_t slices) {
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Sliced"}, {"sm_count", 24}, {"memory", "2 GiB"}, {"clock_khz", 1500000}}},
          {"caches", {{"l2", {{"size", "2 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
          {"paths",
           {{"global_cached", {{{"level", "l2"}, {"latency", 280}}, {{"level", "device_memory"}, {"latency", 640}}}}}},
          {"distance", {{"slice", 256}, {"count", slices}, {"sm", 12}, {"slices", 15}}},
          {"noise", {{"jitter", "uniform"}, {"cycles", 3}, {"outlier_probability", 1e-3}, {"outlier_cycles", 300}}}};
}

Estimate slices_found(const Json& text) {
  const auto model = sim::parse_model(text.dump(), "sliced");
  EXPECT_TRUE(model) << model.error().message;
  const Topology found = discovered_deep(*model, {"l2"});
  const Estimate* e = found.find("l2")->find("slices");
  EXPECT_NE(e, nullptr);
  return e == nullptr ? Estimate{} : *e;
}

TEST(L2Slices, AreToldApartByHowFarTheyAreFromEachSm) {
  for (const std::uint32_t slices : {8U, 47U, 94U}) {
    const Estimate e = slices_found(sliced_model(slices));
    ASSERT_EQ(e.status, Status::lower_bound) << e.note;
    EXPECT_EQ(*e.value, slices) << e.note;
  }
}

// As far from every SM as some others are: only their distances' steps show.
TEST(L2Slices, InOnePlaceCountAsOne) {
  Json text = sliced_model(40);
  text["distance"] = {{"slice", 256}, {"count", 40}, {"slices", 20}, {"steps", 5}};
  const Estimate e = slices_found(text);
  ASSERT_EQ(e.status, Status::lower_bound) << e.note;
  EXPECT_LE(*e.value, 5);
  EXPECT_GE(*e.value, 3);
}

TEST(L2Slices, AreOpenWithoutDistanceOrWhereEachLineHasItsOwn) {
  Json text = sliced_model(40);
  text.erase("distance");
  EXPECT_EQ(slices_found(text).status, Status::inconclusive);
  text["distance"] = {{"sm", 12}, {"slices", 15}};
  EXPECT_EQ(slices_found(text).status, Status::inconclusive);
}

TEST(L2Slices, AreNeverMoreThanThereAreWhateverTheNoise) {
  for (const double cycles : {0.5, 6.0, 15.0}) {
    Json text = sliced_model(32);
    text["noise"] = {
        {"jitter", "gaussian"}, {"cycles", cycles}, {"outlier_probability", 0.03}, {"outlier_cycles", {50, 600}}};
    const Estimate e = slices_found(text);
    // Half a cycle leaves nothing open; more may, and then it says so.
    if (cycles > 1 && e.status == Status::inconclusive) continue;
    ASSERT_EQ(e.status, Status::lower_bound) << cycles << ' ' << e.note;
    EXPECT_LE(*e.value, 32) << cycles;
  }
}

}  // namespace
}  // namespace gputopo::test
