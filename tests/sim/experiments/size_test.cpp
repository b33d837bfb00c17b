// Sizes of caches that what fits alone gets wrong: uneven sets, other replacement, the kernel's own lines, tenants.
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

Json model_with(const char* path, const char* cache, Json description) {
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Sizes"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
          {"caches",
           {{cache, std::move(description)},
            {"l2", {{"size", "1 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
          {"shared", {{"carve_outs", {"16 KiB"}}, {"latency", 25}}},
          {"paths",
           {{path,
             {{{"level", cache}, {"latency", 40}},
              {{"level", "l2"}, {"latency", 200}},
              {{"level", "device_memory"}, {"latency", 500}}}}}}};
}

Json constants_with(Json description) {
  Json model = model_with("constant", "constant_l1", std::move(description));
  model["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 200}},
                                     {{"level", "device_memory"}, {"latency", 500}}};
  return model;
}

Memory found_in(const Json& model, const std::string& id) {
  auto parsed = sim::parse_model(model.dump(), "sizes");
  EXPECT_TRUE(parsed) << parsed.error().message;
  const auto device = sim::make_device(std::move(*parsed));
  experiments::DiscoverOptions options;
  options.only = {id};
  options.extras = false;
  const auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found->find(id);
}

Estimate size_of(const Json& model, const std::string& id) {
  return *found_in(model, id).find("size");
}

// One in seven of what the cache behind it answers takes no longer than a hit, of what the L2 does none: where this one
// lost most lines to the L2, what is hidden of the few others isn't to be counted among what it holds.
TEST(Size, HoldsNoLinesOfALevelThatOverlapsWithIt) {
  for (const char* replacement : {"lru", "random"})
    for (const int behind : {20480, 32768}) {
      Json model = constants_with({{"size", 16384}, {"line", 128}, {"ways", 8}, {"replacement", replacement}});
      model["caches"]["constant_l1_5"] = {{"size", behind}, {"line", 128}, {"ways", 10}};
      if (behind == 32768) model["caches"]["constant_l1_5"]["ways"] = 16;
      model["paths"]["constant"] = {{{"level", "constant_l1"}, {"latency", 100}},
                                    {{"level", "constant_l1_5"}, {"latency", 106}},
                                    {{"level", "l2"}, {"latency", 125}},
                                    {{"level", "device_memory"}, {"latency", 220}}};
      model["noise"] = {{"jitter", "uniform"}, {"cycles", 3}};
      const Estimate size = size_of(model, "constant_l1");
      ASSERT_TRUE(size.value) << size.note;
      EXPECT_EQ(size.value, 16384) << replacement << " " << behind;
      if (size.status != Status::measured) continue;
      EXPECT_LE(size.interval->low, 16384);
    }
}

// What is behind holds a third more and answers within the jitter: no footprint has many of its loads.
TEST(Size, IsNotThatOfALevelThatHidesAmongHits) {
  Json model = constants_with({{"size", 3072}, {"line", 128}, {"ways", 8}, {"replacement", "fifo"}});
  for (const char* cache : {"constant_l1", "constant_l1_5"}) {
    model["caches"][cache]["line"] = 128;
    model["caches"][cache]["replacement"] = "fifo";
    model["caches"][cache]["consecutive_lines"] = 4;
  }
  model["caches"]["constant_l1_5"]["size"] = 4096;
  model["caches"]["constant_l1_5"]["ways"] = 16;
  model["paths"]["constant"] = {{{"level", "constant_l1"}, {"latency", 13.8}},
                                {{"level", "constant_l1_5"}, {"latency", 15.7}},
                                {{"level", "l2"}, {"latency", 24}},
                                {{"level", "device_memory"}, {"latency", 136}}};
  model["noise"] = {{"jitter", "gaussian"}, {"cycles", 1}};
  for (const int seed : {1, 2, 3}) {
    model["noise"]["seed"] = seed;
    const Memory l1 = found_in(model, "constant_l1");
    const Estimate* size = l1.find("size");
    if (size == nullptr || !size->value) continue;
    EXPECT_LE(*size->value, 3072) << size->note;
  }
}

// Four lines next to one another fill a set, and are pushed out by four others: one line of 512 B does the same.
TEST(Size, IsNotCountedInLinesThatFillASetTogether) {
  Json model = constants_with({{"size", 3584},
                               {"line", 128},
                               {"sector", 32},
                               {"sets", 7},
                               {"ways", 4},
                               {"replacement", "fifo"},
                               {"index", "hash"},
                               {"consecutive_lines", 4}});
  const Memory l1 = found_in(model, "constant_l1");
  const Estimate &line = *l1.find("line_size"), &size = *l1.find("size");
  if (line.value) {
    EXPECT_EQ(*line.value, 128);
  }
  ASSERT_TRUE(size.value) << size.note;
  EXPECT_LE(*size.value, 3584);
}

// Four lines in a row fill a set, and of a load every 256 B 64 KiB find room. A load every line tells.
TEST(Line, IsNotOneOfSeveralThatFillASet) {
  const Memory found = found_in(
      model_with("global_cached", "l1",
                 {{"line", 32}, {"sets", 64}, {"ways", 4}, {"consecutive_lines", 4}, {"index", "xor"}, {"size", 8192}}),
      "l1");
  EXPECT_EQ(found.find("line_size")->value, 32);
  EXPECT_EQ(found.find("size")->value, 8192);
}

// Three of 75 lines find no place of their own: a footprint begins to miss before the cache is full.
TEST(Size, OfUnevenSetsIsWhatTheyHold) {
  const Estimate size =
      size_of(constants_with(
                  {{"size", 4800}, {"line", 64}, {"sets", 25}, {"ways", 3}, {"index", "xor"}, {"replacement", "fifo"}}),
              "constant_l1");
  EXPECT_EQ(size.status, Status::measured) << size.note;
  EXPECT_EQ(size.value, 4800);
  EXPECT_EQ(size.method, "residency");
}

// What global loads bring into an L2, or find in memory, says nothing of a cache between: walks show it.
TEST(Size, IsTheNearestCachesWhereAnotherOneLiesBetween) {
  const Json near = {{"size", 5120}, {"line", 32}, {"ways", 20}};
  const Json between = {{"size", 65536}, {"line", 256}, {"sector", 32}, {"ways", 16}};
  for (const char* path : {"texture", "global_cached"})
    for (const double latency : {60.0, 150.0}) {
      Json model = model_with(path, "near", near);
      model["caches"]["between"] = between;
      Json levels = model["paths"][path];
      model["paths"]["global_cached"] = Json::array({levels[1], levels[2]});
      levels.insert(levels.begin() + 1, Json{{"level", "between"}, {"latency", latency}});
      model["paths"][path] = levels;
      const Memory found = found_in(model, path == std::string("texture") ? "texture" : "l1");
      const Estimate &size = *found.find("size"), &line = *found.find("line_size");
      ASSERT_TRUE(size.value) << path << latency << size.note;
      EXPECT_EQ(*size.value, 5120) << path << latency;
      EXPECT_EQ(line.value, 32) << path << latency;
      EXPECT_EQ(found.find("sector_size")->value, 32) << path << latency;
      if (const Estimate* penalty = found.find("miss_penalty"); penalty != nullptr && penalty->value) {
        EXPECT_NEAR(*penalty->value, latency - 40, 1) << path << latency;
      }
    }
}

// One of 26 sets overflows 17 lines before the others and misses as much in each lap from there on, as others' lines
// do.
TEST(Size, IsNoMoreThanWhatMissesInNoLap) {
  for (const char* replacement : {"lru", "fifo"}) {
    Json model = model_with(
        "texture", "tx",
        {{"size", 19968}, {"line", 32}, {"sets", 26}, {"ways", 24}, {"index", "xor"}, {"replacement", replacement}});
    model["paths"]["global_cached"] = {{{"level", "device_memory"}, {"latency", 500}}};
    const Estimate size = size_of(model, "texture");
    ASSERT_TRUE(size.value) << size.note;
    EXPECT_LE(*size.value, 19968);
    EXPECT_GE(*size.value, 18000);
  }
}

TEST(Size, OfRandomReplacementHasTheTruthInItsInterval) {
  const Estimate size =
      size_of(constants_with({{"size", 4096}, {"line", 64}, {"sets", 4}, {"ways", 16}, {"replacement", "random"}}),
              "constant_l1");
  ASSERT_TRUE(size.has_value());
  EXPECT_LE(size.interval ? size.interval->low : *size.value, 4096);
  if (size.status == Status::measured) {
    EXPECT_GE(size.interval->high, 4096);
  }
}

// The kernel's own constants push a line of the only set out in every lap, whatever fits: the count alone tells.
TEST(Size, OfFewLinesReplacedAtRandomIsCountedToTheLine) {
  for (const char* replacement : {"random", "not_most_recent"}) {
    Json model =
        constants_with({{"size", 2816}, {"line", 128}, {"sets", 1}, {"ways", 22}, {"replacement", replacement}});
    model["background"] = {{"constants", 64}, {"constant_offset", 192}};
    const Estimate size = size_of(model, "constant_l1");
    EXPECT_EQ(size.status, Status::measured) << replacement << ": " << size.note;
    EXPECT_EQ(size.value, 2816) << replacement;
  }
}

TEST(Size, IsNotShortOfTheKernelsOwnLines) {
  for (const char* replacement : {"lru", "fifo"}) {
    Json model =
        constants_with({{"size", 2048}, {"line", 64}, {"sets", 1}, {"ways", 32}, {"replacement", replacement}});
    model["background"] = {{"constants", 256}, {"constant_offset", 192}};
    const Estimate size = size_of(model, "constant_l1");
    EXPECT_EQ(size.status, Status::measured) << replacement << size.note;
    EXPECT_EQ(size.value, 2048) << replacement;
  }
}

// Several SMs' cache is full when a program begins, and of nine ways a tree of bits sends every other line to the
// ninth: of 27 lines that come 25 stay, whose number says nothing of the cache. Looks at single lines do.
TEST(Size, IsNotWhatATreeOfBitsKeepsOfLessThanFits) {
  Json model = model_with(
      "global_cached", "l1",
      {{"size", 16128}, {"line", 256}, {"sets", 7}, {"ways", 9}, {"replacement", "tree_plru"}, {"shared_by", 4}});
  model["paths"]["global_no_allocate"] = true;
  model["gpu"]["sm_count"] = 6;
  model["groups"] = {{"gpc", {{0, 1, 4, 5}, {2, 3}}}, {"tpc", 2}};
  const Estimate size = size_of(model, "l1");
  ASSERT_EQ(size.status, Status::measured) << size.note;
  EXPECT_EQ(*size.value, 16128);
}

// Of 67 lines 64 fit wherever they begin. The constant L1 hides 48, and of known misses some looked like hits; looks at
// the others never did.
TEST(Size, ReachesUpToWhatIsHeldIfNoneOfItOnlyLooksSo) {
  Json model = constants_with({{"size", 6144}, {"line", 128}, {"ways", 16}});
  model["caches"]["behind"] = {{"size", 8704}, {"line", 128}, {"ways", 4}, {"index", "xor"}, {"reserved", 128}};
  model["caches"]["l2"] = {{"size", 229376}, {"line", 64}, {"ways", 8}, {"scope", "gpu"}};
  model["gpu"]["sm_count"] = 2;
  model["gpu"]["clock_khz"] = 1200000;
  model["paths"]["constant"] = {{{"level", "constant_l1"}, {"latency", 38}},
                                {{"level", "behind"}, {"latency", 72.25}},
                                {{"level", "l2"}, {"latency", 100.5}},
                                {{"level", "device_memory"}, {"latency", 253.75}}};
  const Estimate size = size_of(model, "constant_l1_5");
  ASSERT_EQ(size.status, Status::measured) << size.note;
  EXPECT_LE(size.interval->low, 8576);
  EXPECT_GE(size.interval->high, 8576);
}

// Constants of the stretch that lies past what an L1 holds come from a slice as near as the L1 itself.
TEST(Size, IsNotThatOfASliceAsNear) {
  Json model = constants_with({{"size", 1536}, {"line", 64}, {"sets", 1}, {"ways", 24}, {"replacement", "tree_plru"}});
  model["caches"]["constant_l1_5"] = {{"size", 4096}, {"line", 256}, {"sector", 128},
                                      {"sets", 2},    {"ways", 8},   {"scope", "gpu"}};
  model["paths"]["constant"] = {{{"level", "constant_l1"}, {"latency", 57.5}},
                                {{"level", "constant_l1_5"}, {"latency", 70}},
                                {{"level", "l2"}, {"latency", 90.5}},
                                {{"level", "device_memory"}, {"latency", 121.5}}};
  model["distance"] = {{"count", 10}, {"slice", 1024}, {"slices", 13}};
  model["noise"] = {{"jitter", "uniform"}, {"cycles", 3}, {"seed", 620004}};
  const Estimate size = size_of(model, "constant_l1");
  if (size.has_value()) {
    EXPECT_LE(size.interval ? size.interval->low : *size.value, 1536) << size.note;
  }
}

// Half of a chip's constants lie as much nearer in the level behind as this is slower: what it serves of them passes
// for hits, and a few lines more for the cache's. Where it has far more than fits and every line of that misses, none
// does.
TEST(Size, IsOpenWhereNearLinesOfTheLevelBehindMayBeAsFast) {
  Json model = constants_with({{"size", 8704}, {"line", 128}, {"sets", 1}, {"ways", 68}, {"replacement", "tree_plru"}});
  model["caches"]["constant_l1_5"] = {{"size", 14848}, {"line", 128}, {"ways", 29}, {"scope", "gpu"}};
  model["paths"]["constant"] = {{{"level", "constant_l1"}, {"latency", 84}},
                                {{"level", "constant_l1_5"}, {"latency", 110}},
                                {{"level", "l2"}, {"latency", 309}},
                                {{"level", "device_memory"}, {"latency", 511}}};
  model["distance"] = {{"sm", 28.5}, {"steps", 2}, {"slice", 4096}};
  const Estimate open = size_of(model, "constant_l1");
  EXPECT_EQ(open.status, Status::inconclusive) << open.value.value_or(0);
  EXPECT_THAT(open.note, testing::HasSubstr("near"));
  model["caches"]["constant_l1"]["replacement"] = "lru";
  model["caches"]["constant_l1_5"] = {{"size", "32 KiB"}, {"line", 128}, {"ways", 8}, {"scope", "gpu"}};
  model["paths"]["constant"][1]["latency"] = 150;
  const Estimate told = size_of(model, "constant_l1");
  EXPECT_EQ(told.status, Status::measured) << told.note;
  EXPECT_EQ(told.value, 8704);
}

// Of one way neighbours go together where what pushes them lies in a row.
TEST(Line, IsNotTwoOfNeighbouringSets) {
  for (const int seed : {3, 950057}) {
    Json model = constants_with({{"size", 1152},
                                 {"line", 64},
                                 {"sector", 32},
                                 {"sets", 18},
                                 {"ways", 1},
                                 {"index", "hash"},
                                 {"replacement", "random"}});
    model["noise"] = {{"jitter", "none"}, {"seed", seed}};
    const Memory found = found_in(model, "constant_l1");
    EXPECT_EQ(found.find("line_size")->value, 64) << found.find("line_size")->note;
    EXPECT_EQ(found.find("size")->status, Status::measured) << found.find("size")->note;
    EXPECT_EQ(found.find("size")->value, 1152);
  }
}

TEST(Size, IsABoundWhereATenantFillsTheCache) {
  Json model = model_with("global_cached", "l1", {{"size", "16 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 4}});
  EXPECT_EQ(size_of(model, "l1").value, 16384);
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 20}, {"slow_share", 0}, {"slow_cycles", {1, 1}}};
  const Estimate size = size_of(model, "l1");
  EXPECT_NE(size.status, Status::measured);
  if (size.has_value()) {
    EXPECT_LE(*size.value, 16384);
  }
}

// Neighbours share a set, and of those looked for together one that is missing pushes out the next, every time.
TEST(Size, OfATreeOfBitsIsMoreThanLooksAtNeighboursFind) {
  Json model = model_with("texture", "tx",
                          {{"size", 12160},
                           {"line", 32},
                           {"ways", 20},
                           {"consecutive_lines", 2},
                           {"index", "xor"},
                           {"folds", 2},
                           {"replacement", "tree_plru"},
                           {"reserved", 480}});
  model["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 200}},
                                     {{"level", "device_memory"}, {"latency", 500}}};
  const Estimate size = size_of(model, "texture");
  ASSERT_EQ(size.status, Status::measured) << size.note;
  EXPECT_EQ(*size.value, 11680);
}

// So fast that a line is gone from the L1 before the next load comes: what answers then is the cache behind it.
TEST(Nearest, IsNotTheCacheBehindWhereATenantHidesIt) {
  Json model = constants_with({{"size", 2048}, {"line", 64}, {"sets", 1}, {"ways", 32}, {"replacement", "fifo"}});
  model["gpu"]["clock_khz"] = 881000;
  model["caches"]["constant_l1_5"] = {{"size", 64512}, {"line", 128}, {"sector", 64},
                                      {"sets", 24},    {"ways", 21},  {"scope", "tpc"}};
  model["groups"] = {{"tpc", 2}, {"gpc", {{0, 1, 2, 3}}}};
  model["paths"]["constant"] = {{{"level", "constant_l1"}, {"latency", 73.5}},
                                {{"level", "constant_l1_5"}, {"latency", 333}},
                                {{"level", "l2"}, {"latency", 418}},
                                {{"level", "device_memory"}, {"latency", 600}}};
  model["tenant"] = {{"l2_lines_per_us", 20}, {"sm_lines_per_us", 87}, {"slow_share", 0}, {"slow_cycles", {1, 1}}};
  const Memory found = found_in(model, "constant_l1");
  EXPECT_NE(found.find("latency")->status, Status::measured);
  EXPECT_GE(found.find("latency")->value.value_or(1e9), 73.5);
  for (const char* name : {"size", "line_size", "sector_size"}) EXPECT_FALSE(found.find(name)->has_value()) << name;
}

}  // namespace
}  // namespace gputopo
