// How a constant L1.5 larger than a module's bank is organised: told where its index is modulo and its size measured,
// and never wrongly.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

using sim::IndexKind;
using sim::Replacement;

// What is told of each quantity of a model's L1.5 of 128 KiB; empty where it is left open.
std::map<std::string, std::string> told(std::uint32_t ways, IndexKind index, Replacement replacement) {
  auto model = sim::builtin_model("h200");
  EXPECT_TRUE(model) << model.error().message;
  const auto cache = std::find_if(model->caches.begin(), model->caches.end(),
                                  [](const sim::CacheModel& c) { return c.name == "constant_l1_5"; });
  EXPECT_NE(cache, model->caches.end());
  cache->organisation.sets = static_cast<std::uint32_t>(cache->size_bytes / cache->line_bytes / ways);
  cache->organisation.index = index;
  cache->organisation.replacement = replacement;
  std::map<std::string, std::string> said;
  for (const Found& found : organisation_found(*model, discovered_deep(*model, {"constant_l1_5"}))) {
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
    if (found.memory == "constant_l1_5") said[found.quantity] = found.answer == Answer::exact ? found.truth : "";
  }
  return said;
}

TEST(OrganisationOverBanks, ByModuloIsToldToTheSet) {
  for (const auto& [ways, sets] : {std::pair{8U, "64"}, {4U, "128"}, {16U, "32"}})
    for (const auto& [replacement, name] : {std::pair{Replacement::lru, "lru"}, {Replacement::tree_plru, "tree"}}) {
      const auto said = told(ways, IndexKind::modulo, replacement);
      EXPECT_EQ(said.at("ways"), std::to_string(ways)) << name;
      EXPECT_EQ(said.at("sets"), sets) << name;
      EXPECT_EQ(said.at("index"), "modulo") << name;
      EXPECT_EQ(said.at("replacement"), name) << ways;
    }
}

// A nearest cache of many lines answers for those of a set, and a quarter of all lines, in sixteen sets, just fit.
TEST(OrganisationOverBanks, BehindACacheThatAnswersForASetIsLeftOpen) {
  auto model = sim::builtin_model("h200");
  ASSERT_TRUE(model) << model.error().message;
  for (sim::CacheModel& c : model->caches) {
    if (c.name == "constant_l1") c.size_bytes = 236 * c.line_bytes, c.organisation.sets = 1;
    if (c.name != "constant_l1_5") continue;
    c.line_bytes = c.sector_bytes = 128;
    c.size_bytes = 64 << 10;
    c.organisation.sets = 64;
  }
  int told = 0;
  const Topology topology = discovered_deep(*model, {"constant_l1", "constant_l1_5"});
  ASSERT_NE(topology.find("constant_l1_5"), nullptr);
  EXPECT_EQ(topology.find("constant_l1_5")->find("size")->value, 65536);
  for (const Found& found : organisation_found(*model, topology)) {
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
    told += found.memory == "constant_l1_5" && found.answer == Answer::exact ? 1 : 0;
  }
  EXPECT_EQ(told, 0);
}

TEST(OrganisationOverBanks, ByAnotherIndexIsLeftOpen) {
  for (const IndexKind index : {IndexKind::xor_fold, IndexKind::hash}) {
    const auto said = told(8, index, Replacement::lru);
    EXPECT_EQ(said.at("sets"), "");
    EXPECT_EQ(said.at("replacement"), "");
  }
}

TEST(OrganisationOverBanks, ByOtherPoliciesIsNeverToldWrongly) {
  for (const Replacement replacement : {Replacement::fifo, Replacement::random, Replacement::not_most_recent})
    told(8, IndexKind::modulo, replacement);
}

}  // namespace
}  // namespace gputopo::test
