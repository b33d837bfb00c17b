// How caches are organised, of models whose truth is known: those of the source documents, and each index and policy.
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

struct Documented {
  const char* model;
  std::vector<std::string> memories;
};

std::ostream& operator<<(std::ostream& stream, const Documented& d) {
  return stream << d.model;
}

class DocumentedOrganisation : public testing::TestWithParam<Documented> {};

// Wong et al. 2010 for GT200, Mei and Chu 2017 for the others: docs/source-documents.md.
TEST_P(DocumentedOrganisation, ComesBackExactly) {
  const auto model = sim::builtin_model(GetParam().model);
  ASSERT_TRUE(model);
  const auto all = organisation_found(*model, discovered_deep(*model, GetParam().memories));
  EXPECT_GE(all.size(), 5 * GetParam().memories.size());
  for (const Found& found : all) EXPECT_EQ(found.answer, Answer::exact) << text_of(found);
}

INSTANTIATE_TEST_SUITE_P(Models, DocumentedOrganisation,
                         testing::Values(Documented{"gt200", {"constant_l1", "constant_l1_5"}},
                                         Documented{"kepler", {"texture", "read_only", "constant_l1_5"}},
                                         Documented{"fermi", {"l1", "texture"}}, Documented{"maxwell", {"l1"}}),
                         [](const auto& one) { return std::string(one.param.model); });

Json model_with_cache(Json cache, bool constants) {
  const char* name = constants ? "constant_l1" : "l1";
  const Json behind = {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 500}}};
  Json path = behind;
  path.insert(path.begin(), Json{{"level", name}, {"latency", 40}});
  Json model = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Sets"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
      {"caches", {{"l2", {{"size", "1 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths", {{"global_cached", constants ? behind : path}}},
      {"noise", {{"jitter", "uniform"}, {"cycles", 1}, {"outlier_probability", 1e-4}, {"outlier_cycles", 300}}}};
  if (constants) model["paths"]["constant"] = path;
  model["caches"][name] = std::move(cache);
  return model;
}

std::vector<Found> found_of(const Json& text, bool constants) {
  const auto model = sim::parse_model(text.dump(), "sets");
  EXPECT_TRUE(model) << model.error().message;
  return organisation_found(*model, discovered_deep(*model, {constants ? "constant_l1" : "l1"}));
}

struct Kind {
  std::string index, replacement;
  bool constants;
};

std::ostream& operator<<(std::ostream& stream, const Kind& kind) {
  return stream << kind.index << "_" << kind.replacement << (kind.constants ? "_constants" : "_global");
}

// Every index with every policy for constants; for global loads each of them at least once.
std::vector<Kind> kinds() {
  std::vector<Kind> all;
  const std::vector<std::string> indices{"modulo", "xor", "hash"};
  const std::vector<std::string> policies{"lru", "fifo", "tree_plru", "random", "not_most_recent"};
  for (std::size_t p = 0; p < policies.size(); ++p) {
    for (const std::string& index : indices) all.push_back({index, policies[p], true});
    all.push_back({indices[(p + 1) % indices.size()], policies[p], false});
  }
  return all;
}

// The evidence that stands beside a policy has what it loses, which is what no other policy would.
void expect_told_from_others(const Found& found) {
  const std::map<std::string, int> places{{"lru", 2}, {"fifo", 3}, {"tree", 4}};
  if (!places.contains(found.found)) return;  // the others are told by what repeats
  const std::regex lost("it loses ([^(]*) \\(LRU (.*), first in first out (.*), a tree of bits (.*)\\)");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(found.why, match, lost)) << found.why;
  for (const auto& [policy, place] : places)
    EXPECT_EQ(match[1] == match[place], policy == found.found) << policy << ": " << found.why;
}

class EveryOrganisation : public testing::TestWithParam<Kind> {};

TEST_P(EveryOrganisation, ComesBackExactly) {
  const Kind& kind = GetParam();
  const Json cache = {{"size", kind.constants ? 4096 : 8192},
                      {"line", kind.constants ? 64 : 128},
                      {"ways", 8},
                      {"index", kind.index},
                      {"replacement", kind.replacement}};
  for (const Found& found : found_of(model_with_cache(cache, kind.constants), kind.constants)) {
    EXPECT_EQ(found.answer, Answer::exact) << text_of(found);
    if (found.quantity == "replacement") expect_told_from_others(found);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryOrganisation, testing::ValuesIn(kinds()), testing::PrintToStringParamName());

TEST(Organisation, OfUnequalSetsGivesTheWaysFromTheLeastToTheMost) {
  const auto all =
      found_of(model_with_cache({{"size", 65 * 64}, {"line", 64}, {"set_ways", {17, 8, 8, 8, 8, 8, 8}}}, true), true);
  for (const Found& found : all) EXPECT_EQ(found.answer, Answer::exact) << text_of(found);
}

TEST(Organisation, OfManySetsIsToldByASampleOfThem) {
  const auto all =
      found_of(model_with_cache({{"size", "64 KiB"}, {"line", 32}, {"ways", 4}, {"index", "xor"}}, false), false);
  ASSERT_FALSE(all.empty());
  for (const Found& found : all) EXPECT_EQ(found.answer, Answer::exact) << text_of(found);
}

// In its lines' own order such a tree loses the same two lines in each round, of twelve ways the same five.
TEST(Organisation, OfATreeOverWaysThatAreNoPowerOfTwoIsToldWhole) {
  for (const auto& [sets, ways] : {std::pair{8, 21}, std::pair{16, 12}, std::pair{4, 6}}) {
    const Json cache = {
        {"size", sets * ways * 128}, {"line", 128}, {"sets", sets}, {"ways", ways}, {"replacement", "tree_plru"}};
    for (const Found& found : found_of(model_with_cache(cache, false), false))
      EXPECT_EQ(found.answer, Answer::exact) << text_of(found);
  }
}

// The L2, whose sets are found by what pushes a line out.
std::map<std::string, std::string> l2_found(const Json& l2) {
  Json text = model_with_cache({{"size", "16 KiB"}, {"line", 64}, {"ways", 4}}, false);
  text["caches"]["l2"] = l2;
  text["caches"]["l2"]["scope"] = "gpu";
  const auto model = sim::parse_model(text.dump(), "sets");
  EXPECT_TRUE(model) << model.error().message;
  std::map<std::string, std::string> said;
  for (const Found& found : organisation_found(*model, discovered_deep(*model, {"l2"}))) {
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
    said[found.quantity] = found.answer == Answer::exact ? found.truth : "";
  }
  return said;
}

TEST(OrganisationOfTheL2, ByLruIsToldForEveryIndex) {
  for (const char* index : {"modulo", "xor", "hash"}) {
    const auto said = l2_found({{"size", "512 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"index", index}});
    EXPECT_EQ(said.at("ways"), "16") << index;
    EXPECT_EQ(said.at("sets"), "256") << index;
    EXPECT_EQ(said.at("index"), index);
    EXPECT_EQ(said.at("replacement"), "lru") << index;
  }
}

// Rows of sets that are each turned by a line more: neighbours collide as modulo a line less would have it.
TEST(OrganisationOfTheL2, WithTurnedRowsIsNotModulo) {
  const auto said = l2_found({{"size", "1536 KiB"}, {"line", 128}, {"ways", 16}, {"index", "xor"}});
  EXPECT_EQ(said.at("ways"), "16");
  EXPECT_EQ(said.at("index"), "hash");
}

// The fewer ways, the fewer of its lines lie at a row's end.
TEST(OrganisationOfTheL2, WithTurnedRowsOfFewWaysIsNotModulo) {
  for (const auto& [sets, ways] : {std::pair{10240, 2}, std::pair{12288, 1}}) {
    const auto said =
        l2_found({{"size", sets * ways * 64}, {"line", 64}, {"sets", sets}, {"ways", ways}, {"index", "xor"}});
    EXPECT_EQ(said.at("index"), "hash") << sets;
  }
}

TEST(OrganisationOfTheL2, WithNeighboursInOneSetIsToldToTheLine) {
  const auto said = l2_found({{"size", "512 KiB"}, {"line", 64}, {"ways", 8}, {"consecutive_lines", 4}});
  EXPECT_EQ(said.at("sets"), "1024");
  EXPECT_EQ(said.at("consecutive_lines"), "4");
  EXPECT_EQ(said.at("index"), "modulo");
}

TEST(OrganisationOfTheL2, IsToldForEveryPolicy) {
  // Looks at sets that are drawn from take rounds by the hundred, and grow with the square of the lines.
  for (const auto& [policy, sets] :
       {std::pair{"fifo", 128}, {"tree_plru", 128}, {"random", 64}, {"not_most_recent", 64}}) {
    const auto said = l2_found({{"size", sets * 8 * 128}, {"line", 128}, {"ways", 8}, {"replacement", policy}});
    EXPECT_EQ(said.at("ways"), "8") << policy;
    EXPECT_EQ(said.at("sets"), std::to_string(sets)) << policy;
    EXPECT_EQ(said.at("index"), "modulo") << policy;
    EXPECT_EQ(said.at("replacement"), policy == std::string("tree_plru") ? "tree" : policy);
  }
}

// Lines of a stretch differ in few bits of their numbers, wherever it begins.
TEST(OrganisationOfTheL2, WithTwoSidesOfFewSetsIsToldToTheSet) {
  Json text = model_with_cache({{"size", "16 KiB"}, {"line", 64}, {"ways", 4}}, false);
  text["caches"]["l2"] = {{"size", "256 KiB"},
                          {"line", 128},
                          {"sets", 64},
                          {"ways", 16},
                          {"index", "xor"},
                          {"scope", "gpu"},
                          {"partitions", {{"count", 2}, {"mode", "near_copy"}}}};
  text["groups"]["partition"] = 2;
  for (auto& [path, levels] : text["paths"].items())
    for (auto& level : levels)
      if (level["level"] != "l1") level["far_latency"] = level["latency"].get<double>() + 34;
  const auto model = sim::parse_model(text.dump(), "sides");
  ASSERT_TRUE(model) << model.error().message;
  std::map<std::string, Found> said;
  for (const Found& found : organisation_found(*model, discovered_deep(*model, {"l2"}))) {
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
    said.insert_or_assign(found.quantity, found);
  }
  EXPECT_EQ(said.at("sets").answer, Answer::exact) << text_of(said.at("sets"));
}

// Lines of more pages than a TLB has take longer wherever they collide.
TEST(OrganisationOfTheL2, IsNoXorByLinesThatATlbLacks) {
  Json text = model_with_cache({{"size", "16 KiB"}, {"line", 64}, {"ways", 4}}, false);
  text["gpu"]["sm_count"] = 8;
  text["groups"] = {{"tpc", 2}, {"gpc", 2}, {"partition", 4}};
  text["caches"]["l2"] = {{"size", "2 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"index", "xor"}};
  text["caches"]["l2"].update({{"scope", "gpu"}, {"partitions", {{"count", 2}, {"mode", "home"}}}});
  text["caches"]["l2"]["partitions"]["interleave"] = "64 KiB";
  text["tlbs"]["t1"] = {{"page", "64 KiB"}, {"entries", 20}, {"ways", 20}, {"miss_penalty", 180}, {"scope", "tpc"}};
  text["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 203}, {"far_latency", 403}, {"tlbs", {"t1"}}},
                                    {{"level", "device_memory"}, {"latency", 560}}};
  text["caches"].erase("l1");
  const auto model = sim::parse_model(text.dump(), "pages");
  ASSERT_TRUE(model) << model.error().message;
  for (const Found& found : organisation_found(*model, discovered_deep(*model, {"l2"})))
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
}

// What it loses a cache behind it answers, nearer to its hits than half of what memory takes.
TEST(OrganisationOfTheL2, WithACacheBehindItIsItsOwn) {
  Json text = model_with_cache({{"size", "16 KiB"}, {"line", 64}, {"ways", 4}}, false);
  text["caches"]["l2"] = {{"size", "512 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}};
  text["caches"]["l3"] = {{"size", "4 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 8}, {"scope", "gpu"}};
  for (auto& [path, levels] : text["paths"].items())
    levels.insert(levels.end() - 1, Json{{"level", "l3"}, {"latency", 300}});
  const auto model = sim::parse_model(text.dump(), "behind");
  ASSERT_TRUE(model) << model.error().message;
  const auto all = organisation_found(*model, discovered_deep(*model, {"l2"}));
  ASSERT_FALSE(all.empty());
  for (const Found& found : all) EXPECT_EQ(found.answer, Answer::exact) << text_of(found);
}

// What a translation takes that a TLB of few ways lost looks like a line that the L2 lost: no set of either is told.
TEST(OrganisationOfTheL2, IsNoneOfATlb) {
  for (const char* policy : {"lru", "random", "not_most_recent"}) {
    Json text = model_with_cache({{"size", "16 KiB"}, {"line", 64}, {"ways", 4}}, false);
    text["caches"]["l2"] = {{"size", "1 MiB"}, {"line", 64}, {"ways", 32}, {"replacement", policy}, {"scope", "gpu"}};
    text["tlbs"] = {{"one", {{"page", "64 KiB"}, {"entries", 16}, {"ways", 2}, {"miss_penalty", 1000}}}};
    for (auto& [path, levels] : text["paths"].items())
      for (auto& level : levels)
        if (level["level"] == "l2") level["tlbs"] = {"one"};
    const auto model = sim::parse_model(text.dump(), "tlb");
    ASSERT_TRUE(model) << model.error().message;
    for (const Found& found : organisation_found(*model, discovered_deep(*model, {"l2"})))
      EXPECT_NE(found.answer, Answer::wrong) << policy << text_of(found);
  }
}

// Sets that go by the order in which lines came, and have them in another one, lose one line a round of one too many,
// which strangers hide.
TEST(OrganisationOfTheL2, ByFifoAndAnXorIsNoHashBesideStrangers) {
  Json text = model_with_cache({{"size", "16 KiB"}, {"line", 64}, {"ways", 4}}, false);
  text["caches"]["l2"] = {{"size", "8 MiB"}, {"line", 128},    {"sector", 32},         {"ways", 16},
                          {"index", "xor"},  {"scope", "gpu"}, {"replacement", "fifo"}};
  text["noise"] = {{"jitter", "uniform"}, {"cycles", 2}, {"outlier_probability", 0.002}, {"outlier_cycles", {50, 500}}};
  text["noise"]["seed"] = 24;
  const auto model = sim::parse_model(text.dump(), "order");
  ASSERT_TRUE(model) << model.error().message;
  for (const Found& found : organisation_found(*model, discovered_deep(*model, {"l2"})))
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
}

// Of two sets by two bits of a line's number neighbours come in runs of two, though each lies where its own bits say.
TEST(Organisation, OfAnXorWhoseNeighboursComeInPairsIsNoHash) {
  const auto model = sim::parse_model(
      model_with_cache({{"size", "2 KiB"}, {"line", 64}, {"sets", 2}, {"ways", 16}, {"index", "xor"}, {"folds", 1}},
                       false)
          .dump(),
      "pairs");
  ASSERT_TRUE(model) << model.error().message;
  std::size_t told = 0;
  for (const Found& found : organisation_found(*model, discovered_deep(*model, {"l1"}))) {
    if (found.memory != "l1") continue;
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
    told += found.quantity == "index" && found.answer == Answer::exact ? 1 : 0;
  }
  EXPECT_EQ(told, 1U);
}

// Of two sets any two neighbouring groups share one half of the time.
TEST(Organisation, NeighboursThatShareOneOfTwoSetsByChanceAreNotToldAsOneGroup) {
  for (const int ways : {12, 16, 20, 24, 28}) {
    const Json cache = {
        {"size", 2 * ways * 64}, {"line", 64}, {"ways", ways}, {"index", "hash"}, {"consecutive_lines", 4}};
    for (const Found& found : found_of(model_with_cache(cache, true), true))
      EXPECT_NE(found.answer, Answer::wrong) << ways << " ways: " << text_of(found);
  }
}

TEST(Organisation, IsNoPartOfAPlainDiscovery) {
  const auto model = sim::builtin_model("gt200");
  ASSERT_TRUE(model);
  for (const Found& found : organisation_found(*model, discovered_plainly(*model)))
    EXPECT_EQ(found.found, "nothing") << found.memory;
}

}  // namespace
}  // namespace gputopo::test
