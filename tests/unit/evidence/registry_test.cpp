#include "experiments/registry.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "catalog/catalog.hpp"

namespace gputopo::experiments {
namespace {

TEST(Registry, EveryExperimentStandsBehindWhatItNeeds) {
  std::set<std::string_view> seen;
  for (const Experiment& e : all_experiments()) {
    for (const std::string_view need : e.needs) EXPECT_TRUE(seen.contains(need)) << e.name << " needs " << need;
    EXPECT_TRUE(seen.insert(e.name).second) << e.name << " twice";
    EXPECT_NE(e.run, nullptr) << e.name;
  }
}

TEST(Registry, EveryExperimentTellsAboutMemoriesOfTheCatalog) {
  for (const Experiment& e : all_experiments()) {
    EXPECT_NE(e.memories.empty(), e.name != "chip_parts") << e.name;  // the one that is about the whole chip
    for (const std::string_view id : e.memories) EXPECT_NE(catalog::find_memory(id), nullptr) << e.name << ": " << id;
  }
}

TEST(Registry, PlansWhatWasAskedForAndWhatThatNeeds) {
  const std::vector<std::string> only{"l2"};
  std::set<std::string_view> names;
  for (const Experiment* e : plan(only, true, false)) names.insert(e->name);
  EXPECT_TRUE(names.contains("l2.geometry"));
  EXPECT_TRUE(names.contains("device_memory"));
  EXPECT_FALSE(names.contains("texture.geometry"));
  for (const Experiment* e : plan(only, false, false)) EXPECT_NE(e->name, "l2.scope");
}

TEST(Registry, NamingAMemoryThatNothingCheapTellsAboutAsksForWhatIsDeep) {
  const auto names = [](std::vector<std::string> only, bool deep) {
    std::set<std::string_view> all;
    for (const Experiment* e : plan(only, true, deep)) all.insert(e->name);
    return all;
  };
  EXPECT_TRUE(names({"tlb_l2"}, false).contains("translation"));
  EXPECT_FALSE(names({"tlb_l2"}, false).contains("l1.organisation"));
  EXPECT_FALSE(names({"l1"}, false).contains("l1.organisation"));
  EXPECT_FALSE(names({}, false).contains("translation"));
  EXPECT_TRUE(names({}, true).contains("translation"));
}

TEST(Registry, BandwidthsAreThoseOfTheMemoriesThatWereNamed) {
  const auto of = [](std::vector<std::string> only) {
    std::set<std::string_view> all;
    for (const Experiment* e : plan(only, true, true))
      if (e->name.ends_with(".bandwidth")) all.insert(e->name);
    return all;
  };
  EXPECT_EQ(of({"shared"}), std::set<std::string_view>{"shared.bandwidth"});
  EXPECT_EQ(of({"l1", "l2"}), (std::set<std::string_view>{"l1.bandwidth", "l2.bandwidth"}));
  EXPECT_EQ(of({}).size(), 7U);
}

}  // namespace
}  // namespace gputopo::experiments
