// What stores do to the L1 and the L2, of models whose truth is known.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

Json storing_model(const Json& l1, const Json& l2) {
  const Json behind = {{{"level", "l2"}, {"latency", 220}}, {{"level", "device_memory"}, {"latency", 520}}};
  Json path = behind;
  path.insert(path.begin(), Json{{"level", "l1"}, {"latency", 35}});
  Json model = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Stores"}, {"sm_count", 4}, {"memory", "2 GiB"}, {"clock_khz", 1500000}}},
      {"caches",
       {{"l1", {{"size", "32 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 4}}},
        {"l2", {{"size", "1 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths", {{"global_cached", path}}},
      {"noise", {{"jitter", "uniform"}, {"cycles", 2}, {"outlier_probability", 0.01}, {"outlier_cycles", {50, 300}}}}};
  for (const auto& [name, changes] : {std::pair{"l1", l1}, {"l2", l2}})
    for (const auto& [field, value] : changes.items()) model["caches"][name][field] = value;
  return model;
}

Topology discovered_stores(const sim::Model& model, std::vector<DecidingCurve>& curves) {
  const auto device = sim::make_device(model);
  experiments::DiscoverOptions options;
  options.only = {"l1", "l2"};
  options.deep = true;
  options.curves = &curves;
  auto topology = experiments::discover(*device, options);
  EXPECT_TRUE(topology) << topology.error().message;
  return topology.value_or(Topology());
}

// Statements about stores, "l1.write_hit" and so on: what was found, "?" where it is open. What was found is true and
// has a curve, what is open a reason.
std::map<std::string, std::string> found_of_stores(const sim::Model& model) {
  Topology truth = sim::truth(model);
  sim::add_writes(model, truth);
  std::vector<DecidingCurve> curves;
  const Topology found = discovered_stores(model, curves);
  std::map<std::string, std::string> all;
  for (const std::string id : {"l1", "l2"})
    for (const std::string about : {"write_policy", "write_allocate", "write_hit"}) {
      const Memory* memory = found.find(id);
      if (memory == nullptr || !memory->structure.contains(about)) continue;
      const gputopo::Statement& s = memory->structure.at(about);
      all[id + "." + about] = s.value.empty() ? "?" : s.value;
      if (s.value.empty()) {
        EXPECT_FALSE(s.note.empty()) << id << ' ' << about;
        continue;
      }
      EXPECT_TRUE(is_usable(s));
      EXPECT_EQ(s.value, truth.find(id)->structure.at(about).value) << id << ' ' << about;
      EXPECT_TRUE(std::any_of(
          curves.begin(), curves.end(),
          [&](const DecidingCurve& c) { return c.memory == id && c.quantity == about && !c.source.empty(); }))
          << id << ' ' << about;
    }
  return all;
}

std::map<std::string, std::string> found_of_stores(const Json& text) {
  const auto model = sim::parse_model(text.dump(), "stores");
  EXPECT_TRUE(model) << model.error().message;
  return found_of_stores(*model);
}

void expect(const std::map<std::string, std::string>& found, const std::map<std::string, std::string>& some) {
  for (const auto& [what, value] : some) EXPECT_EQ(found.contains(what) ? found.at(what) : "nothing", value) << what;
}

TEST(DiscoveredStores, OfAnH200AreThroughAnL1OfWordsIntoAnL2OfWholeSectors) {
  const auto found = found_of_stores(*sim::builtin_model("h200"));
  EXPECT_EQ(found.size(), 6U);
  expect(found, {{"l1.write_policy", "through"},
                 {"l1.write_allocate", "word"},
                 {"l1.write_hit", "update"},
                 {"l2.write_policy", "?"},
                 {"l2.write_allocate", "full_sector"},
                 {"l2.write_hit", "update"}});
}

class EveryAllocation : public testing::TestWithParam<const char*> {};

// What the L1 fetches for a store the L2 has by that load, whatever it does with stores itself.
TEST_P(EveryAllocation, OfAnL1ComesBackExactly) {
  const std::string allocate = GetParam();
  const bool fetches = allocate == "sector" || allocate == "line";
  expect(found_of_stores(storing_model({{"write_allocate", allocate}}, {})),
         {{"l1.write_allocate", allocate},
          {"l1.write_hit", "update"},
          {"l1.write_policy", fetches || allocate == "none" ? "?" : "through"},
          {"l2.write_allocate", fetches ? "?" : "full_sector"}});
}

TEST_P(EveryAllocation, OfAnL2ComesBackExactlyWhereItKeepsAnything) {
  const std::string allocate = GetParam();
  const bool keeps = allocate != "none";
  expect(found_of_stores(storing_model({}, {{"write_allocate", allocate}})),
         {{"l2.write_allocate", keeps ? allocate : "?"},
          {"l2.write_hit", keeps ? "update" : "?"},
          {"l1.write_policy", keeps ? "through" : "?"}});
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryAllocation, testing::Values("none", "word", "full_sector", "sector", "line"),
                         [](const auto& one) { return std::string(one.param); });

TEST(DiscoveredStores, ThatInvalidateAreTold) {
  const Json evicts = {{"write_hit", "invalidate"}, {"write_allocate", "none"}};
  expect(found_of_stores(storing_model(evicts, {})), {{"l1.write_hit", "invalidate"},
                                                      {"l1.write_allocate", "none"},
                                                      {"l1.write_policy", "through"},
                                                      {"l2.write_allocate", "full_sector"}});
  expect(found_of_stores(storing_model({}, evicts)),
         {{"l1.write_hit", "update"}, {"l2.write_hit", "invalidate"}, {"l2.write_allocate", "?"}});
}

TEST(DiscoveredStores, ThatAnL1WritesBackSayNothingOfTheL2) {
  const auto found = found_of_stores(storing_model({{"write_policy", "back"}}, {}));
  expect(found,
         {{"l1.write_policy", "?"}, {"l1.write_allocate", "word"}, {"l2.write_allocate", "?"}, {"l2.write_hit", "?"}});
  const auto passing = found_of_stores(storing_model({{"write_policy", "back"}, {"write_allocate", "none"}}, {}));
  expect(passing, {{"l1.write_policy", "?"}, {"l1.write_allocate", "none"}, {"l2.write_allocate", "full_sector"}});
}

TEST(DiscoveredStores, WithoutAnL1AreTheL2sAlone) {
  Json model = storing_model({}, {{"write_allocate", "none"}});
  model["paths"]["global_cached"].erase(0);
  const auto found = found_of_stores(model);
  EXPECT_FALSE(found.contains("l1.write_allocate"));
  expect(found, {{"l2.write_allocate", "none"}, {"l2.write_hit", "update"}});
}

TEST(DiscoveredStores, OfAnL2WithACacheBehindItAreOpen) {
  Json model = storing_model({}, {});
  model["caches"]["l3"] = {{"size", "4 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}};
  Json& path = model["paths"]["global_cached"];
  path.insert(path.begin() + 2, Json{{"level", "l3"}, {"latency", 330}});
  model["caches"]["l2"]["write_allocate"] = "none";
  expect(found_of_stores(model), {{"l2.write_allocate", "?"}});
}

}  // namespace
}  // namespace gputopo::test
