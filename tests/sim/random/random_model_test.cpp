// The generator draws what docs/domain.md claims, and nothing that can't be read; the tally counts what it is told.
#include "tests/sim/random/random_model.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "tests/sim/random/tally.hpp"
#include "tests/sim/random/untold.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

TEST(RandomModel, IsValidWhateverTheSeed) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const auto model = sim::parse_model(random_model(seed).dump(), "random");
    ASSERT_TRUE(model) << seed << ": " << model.error().message;
    const auto hostile = sim::parse_model(hostile_model(seed).dump(), "hostile");
    ASSERT_TRUE(hostile) << seed << ": " << hostile.error().message;
  }
}

TEST(RandomModel, FollowsFromItsSeed) {
  EXPECT_EQ(random_model(7), random_model(7));
  EXPECT_NE(random_model(7), random_model(8));
  EXPECT_EQ(hostile_model(7), hostile_model(7));
}

struct Property {
  const char* name;
  std::function<bool(const Json&)> holds;
  int least;  ///< of 2000 models
};

bool cache_has(const Json& m, const char* cache, const char* field, const Json& value) {
  return m["caches"].contains(cache) && m["caches"][cache].value(field, Json()) == value;
}

double ratio(const Json& path, std::size_t level) {
  return path[level + 1]["latency"].get<double>() / path[level]["latency"].get<double>();
}

std::vector<Property> properties() {
  std::vector<Property> all;
  for (const char* cache : {"l1", "texture", "constant_l1", "constant_l1_5", "l2"}) {
    for (const char* replacement : {"lru", "fifo", "random", "tree_plru", "not_most_recent"})
      all.push_back({replacement, [=](const Json& m) { return cache_has(m, cache, "replacement", replacement); }, 80});
    for (const char* index : {"modulo", "xor", "hash"})
      all.push_back({index, [=](const Json& m) { return cache_has(m, cache, "index", index); }, 150});
    all.push_back(
        {"unequal sets",
         [=](const Json& m) { return m["caches"].contains(cache) && m["caches"][cache].contains("set_ways"); }, 30});
  }
  const auto has = [&](const char* name, const char* pointer, int least) {
    all.push_back({name, [=](const Json& m) { return m.contains(Json::json_pointer(pointer)); }, least});
  };
  has("sides", "/caches/l2/partitions", 200);
  has("chiplets", "/caches/l2/shared_by", 120);
  has("behind the L2", "/caches/l3", 200);
  has("TLBs", "/tlbs/tlb_1", 400);
  has("second TLBs", "/tlbs/tlb_2", 100);
  has("slices", "/distance/slices", 100);
  has("steps", "/distance/steps", 150);
  has("slices of several lines", "/distance/slice", 150);
  has("a number of slices", "/distance/count", 150);
  has("shared L1", "/caches/l1/shared_by", 80);
  has("shared texture", "/caches/texture/shared_by", 80);
  has("shared constants", "/caches/constant_l1/shared_by", 100);
  has("instances", "/caches/l1/instances", 50);
  has("neighbours", "/neighbour", 150);
  has("tenants", "/tenant", 120);
  has("clock", "/clock", 80);
  has("own lines", "/background", 400);
  has("no L2", "/caches/l2", 1500);
  const auto is = [&](const char* name, int least, std::function<bool(const Json&)> holds) {
    all.push_back({name, std::move(holds), least});
  };
  is("strangers of more than 2 %", 100,
     [](const Json& m) { return m["noise"].value("outlier_probability", 0.0) > 0.02; });
  is("an L2 less than 1.1 times as slow as the L1", 100, [](const Json& m) {
    return m["caches"].contains("l1") && m["caches"].contains("l2") && ratio(m["paths"]["global_cached"], 0) < 1.1;
  });
  is("a constant L1.5 less than twice the L1", 40, [](const Json& m) {
    const Json& c = m["caches"];
    return c.contains("constant_l1_5") &&
           c["constant_l1_5"]["size"].get<double>() < 2 * c["constant_l1"]["size"].get<double>();
  });
  is("a TLB whose reach lies inside the L2", 60, [](const Json& m) {
    const Json& t = m["tlbs"].value("tlb_1", Json());
    return t.is_object() && m["caches"].contains("l2") &&
           t["page"].get<double>() * t["entries"].get<double>() < m["caches"]["l2"]["size"].get<double>();
  });
  is("constants with a faster way to the L2", 200, [](const Json& m) {
    const Json& path = m["paths"].value("constant", Json::array());
    for (const Json& level : path)
      if (level["level"] == "l2") return level["latency"] < m["paths"]["global_l2_only"][0]["latency"];
    return false;
  });
  return all;
}

TEST(RandomModel, DrawsTheWholeDomain) {
  const std::vector<Property> all = properties();
  std::vector<int> seen(all.size(), 0);
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Json model = random_model(seed);
    for (std::size_t i = 0; i < all.size(); ++i) seen[i] += all[i].holds(model) ? 1 : 0;
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_GE(seen[i], all[i].least) << i << " " << all[i].name;
}

TEST(RandomModel, RatiosOfLevelsBeginAtTheDomainsLeast) {
  double least = 10;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Json model = random_model(seed);
    for (const Json& path : model["paths"])
      for (std::size_t i = 0; path.is_array() && i + 1 < path.size(); ++i)
        if (path[i]["latency"] != 0) least = std::min(least, ratio(path, i));
  }
  EXPECT_GE(least, 1.05);
  EXPECT_LT(least, 1.06);
}

Statement statement(Verdict verdict, double confidence, std::optional<bool> in_interval = std::nullopt) {
  Statement s{"l1", "size", "", "", verdict, true, ""};
  s.confidence = confidence;
  s.in_interval = in_interval;
  return s;
}

// One module's constants, which the L1.5 holds all, and an SM whose clock fell so far that its L1 is as slow as the L2.
TEST(Untold, IsACacheThatTheModelLeavesNothingToTellBy) {
  const Json model = {{"schema", "gputopo-model/1"},
                      {"gpu", {{"name", "Untold"}, {"sm_count", 2}, {"memory", "1 GiB"}, {"clock_khz", 1000000}}},
                      {"caches",
                       {{"l1", {{"size", 16384}, {"line", 128}, {"ways", 4}}},
                        {"constant_l1", {{"size", 2048}, {"line", 64}, {"ways", 4}}},
                        {"constant_l1_5", {{"size", 65536}, {"line", 64}, {"ways", 4}}},
                        {"l2", {{"size", 1 << 20}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
                      {"paths",
                       {{"global_cached",
                         {{{"level", "l1"}, {"latency", 150}},
                          {{"level", "l2"}, {"latency", 200}},
                          {{"level", "device_memory"}, {"latency", 500}}}},
                        {"constant",
                         {{{"level", "constant_l1"}, {"latency", 40}},
                          {{"level", "constant_l1_5"}, {"latency", 80}},
                          {{"level", "l2"}, {"latency", 200}},
                          {{"level", "device_memory"}, {"latency", 500}}}}}},
                      {"limits", {{"constant_modules", 1}}},
                      {"clock", {{{"at_us", 10}, {"khz", 750000}}}}};
  const auto parsed = sim::parse_model(model.dump(), "untold");
  ASSERT_TRUE(parsed) << parsed.error().message;
  std::vector<Statement> all;
  for (const char* id : {"l1", "constant_l1", "constant_l1_5", "l2"})
    all.push_back({id, "size", "16 KiB", "unknown", Verdict::inconclusive, true, ""});
  all.push_back({"constant_l1", "parent", "constant_l1_5", "unknown", Verdict::inconclusive, true, ""});
  all.push_back({"other", "parent", "l2", "unknown", Verdict::inconclusive, true, ""});
  mark_untold(*parsed, all);
  EXPECT_FALSE(all[4].decidable) << "what serves its misses isn't seen";
  EXPECT_TRUE(all[5].decidable);
  EXPECT_FALSE(all[0].decidable);
  EXPECT_TRUE(all[1].decidable);
  EXPECT_FALSE(all[2].decidable);
  EXPECT_TRUE(all[3].decidable);
}

TEST(Tally, CountsModelsValuesIntervalsAndConfidences) {
  Tally t;
  t.add({statement(Verdict::exact, 0.96, true), statement(Verdict::wrong, 0.97, false),
         statement(Verdict::inconclusive, 0.4)});
  t.add({statement(Verdict::bound_holds, 1.0)});
  EXPECT_EQ(t.models, 2U);
  EXPECT_EQ(t.wrong_models, 1U);
  EXPECT_EQ(t.statements, 4U);
  EXPECT_EQ(t.said, 3U);
  EXPECT_EQ(t.wrong, 1U);
  EXPECT_EQ(t.undecided, 2U);
  EXPECT_EQ(t.intervals, 2U);
  EXPECT_EQ(t.intervals_missed, 1U);
  EXPECT_EQ(t.by_confidence[8].said, 2U);
  EXPECT_EQ(t.by_confidence[8].right, 1U);
  EXPECT_EQ(t.by_confidence[11].said, 1U);
  EXPECT_EQ(to_json(tally_of(to_json(t))), to_json(t));
  Tally twice = t;
  twice.add(t);
  EXPECT_EQ(twice.statements, 8U);
  EXPECT_EQ(twice.by_confidence[8].right, 2U);
}

}  // namespace
}  // namespace gputopo::test
