// TLBs of models whose truth is known: those of the source documents and of the H200, each policy and index, three
// levels, and what isn't one.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/sim/translation/found_translation.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

void expect_exact(const sim::Model& model, std::size_t least) {
  const auto all = translation_found(model, discovered_translation(model));
  EXPECT_GE(all.size(), least);
  for (const Found& found : all) EXPECT_EQ(found.answer, Answer::exact) << text_of(found);
}

class DocumentedTranslation : public testing::TestWithParam<const char*> {};

// Wong et al. 2010 for GT200, Mei and Chu 2017 for the others: docs/source-documents.md.
TEST_P(DocumentedTranslation, ComesBackExactly) {
  const auto model = sim::builtin_model(GetParam());
  ASSERT_TRUE(model);
  expect_exact(*model, 2 * 9);
}

INSTANTIATE_TEST_SUITE_P(Models, DocumentedTranslation, testing::Values("gt200", "fermi", "kepler", "maxwell"),
                         [](const auto& one) { return std::string(one.param); });

Json model_with_tlbs(Json tlbs) {
  Json names = Json::array();
  for (const auto& [name, tlb] : tlbs.items()) names.push_back(name);
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Pages"}, {"sm_count", 4}, {"memory", "16 GiB"}, {"clock_khz", 1500000}}},
          {"groups", {{"tpc", 2}}},
          {"caches", {{"l2", {{"size", "4 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
          {"tlbs", std::move(tlbs)},
          {"paths",
           {{"global_cached",
             {{{"level", "l2"}, {"latency", 200}, {"tlbs", names}}, {{"level", "device_memory"}, {"latency", 500}}}}}},
          {"noise", {{"jitter", "uniform"}, {"cycles", 2}, {"outlier_probability", 1e-3}, {"outlier_cycles", 300}}}};
}

sim::Model parsed(const Json& text) {
  const auto model = sim::parse_model(text.dump(), "pages");
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

TEST(Translation, OfThreeLevelsWithEntriesOfTheirOwnSizeComesBackExactly) {
  expect_exact(
      parsed(model_with_tlbs(
          {{"1", {{"page", "64 KiB"}, {"entries", 24}, {"miss_penalty", 12}}},
           {"2", {{"page", "2 MiB"}, {"entries", 128}, {"ways", 8}, {"scope", "tpc"}, {"miss_penalty", 60}}},
           {"3", {{"page", "4 MiB"}, {"entries", 1024}, {"ways", 8}, {"scope", "gpu"}, {"miss_penalty", 150}}}})),
      3 * 9);
}

// A level that goes on answering some lines of a circle is asked for these, not the one behind it.
TEST(Translation, IsNoLargerThanItIsWhereALevelInFrontKeepsSome) {
  Json text = model_with_tlbs({{"1",
                                {{"page", "128 KiB"},
                                 {"entries", 24},
                                 {"ways", 12},
                                 {"index", "hash"},
                                 {"replacement", "fifo"},
                                 {"miss_penalty", 11}}},
                               {"2",
                                {{"page", "512 KiB"},
                                 {"entries", 102},
                                 {"index", "hash"},
                                 {"replacement", "tree_plru"},
                                 {"miss_penalty", 114}}}});
  text["gpu"]["memory"] = "64 GiB";
  for (const int seed : {1, 2}) {
    text["noise"]["seed"] = seed;
    for (const Found& found : translation_found(parsed(text), discovered_translation(parsed(text))))
      EXPECT_NE(found.answer, Answer::wrong) << seed << ' ' << text_of(found);
  }
}

// Loads that leave an SM at the ticks of another clock wait by what came before them, each time that a walk comes by,
// and nearly as long as a miss costs.
TEST(Translation, OfLoadsThatWaitForTicksComesBackExactly) {
  Json text = model_with_tlbs(
      {{"1", {{"page", "16 MiB"}, {"entries", 16}, {"miss_penalty", 10}}},
       {"2", {{"page", "32 MiB"}, {"entries", 256}, {"ways", 8}, {"scope", "tpc"}, {"miss_penalty", 89}}}});
  text["gpu"]["memory"] = "64 GiB";
  text["distance"] = {{"slices", 30}, {"count", 96}};
  text["tick"] = 9;
  for (const int seed : {1, 2, 3}) {
    text["noise"]["seed"] = seed;
    expect_exact(parsed(text), 2 * 9);
  }
}

struct Policy {
  const char *name, *replacement, *index;
};

class EveryTlb : public testing::TestWithParam<Policy> {};

Json model_of(const Policy& policy) {
  return model_with_tlbs({{"1",
                           {{"page", "2 MiB"},
                            {"entries", 64},
                            {"ways", 8},
                            {"miss_penalty", 20},
                            {"index", policy.index},
                            {"replacement", policy.replacement}}}});
}

TEST_P(EveryTlb, ComesBackExactly) {
  expect_exact(parsed(model_of(GetParam())), 9);
}

// Whether as many looks as there is time for settle which lines go is a matter of chance here.
TEST(Translation, OfATlbThatReplacesAtRandomIsOpenSeldomAndNeverWrong) {
  int exact = 0;
  for (int seed = 1; seed <= 8; ++seed) {
    Json text = model_of({"", "random", "modulo"});
    text["noise"]["seed"] = seed;
    const sim::Model model = parsed(text);
    bool is_exact = true;
    for (const Found& found : translation_found(model, discovered_translation(model))) {
      EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
      is_exact = is_exact && found.answer == Answer::exact;
    }
    exact += is_exact ? 1 : 0;
  }
  EXPECT_GE(exact, 6);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryTlb,
                         testing::Values(Policy{"fifo", "fifo", "modulo"}, Policy{"tree", "tree_plru", "modulo"},
                                         Policy{"xor", "lru", "xor"}, Policy{"hash", "lru", "hash"},
                                         Policy{"not_most_recent", "not_most_recent", "modulo"}),
                         [](const auto& one) { return std::string(one.param.name); });

// A texture reaches 512 MiB: enough of the first TLB, several together more than the second.
TEST(Translation, OfTexturesIsToldWhateverOneReaches) {
  for (const Json& asked : {Json{"1", "2"}, Json{"2"}, Json::array()}) {
    Json text = model_with_tlbs({{"1", {{"page", "2 MiB"}, {"entries", 16}, {"miss_penalty", 20}}},
                                 {"2", {{"page", "2 MiB"}, {"entries", 512}, {"ways", 8}, {"miss_penalty", 90}}}});
    Json path = {{{"level", "l2"}, {"latency", 300}}, {{"level", "device_memory"}, {"latency", 600}}};
    if (!asked.empty()) path[0]["tlbs"] = asked;
    text["paths"]["texture"] = path;
    const Topology found = discovered_translation(parsed(text));
    for (const Found& f : translation_found(parsed(text), found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
    for (const auto& [id, name] : {std::pair{"tlb_l1", "1"}, {"tlb_l2", "2"}}) {
      const bool asks = std::find(asked.begin(), asked.end(), name) != asked.end();
      EXPECT_EQ(found.find(id)->structure.at("textures").value, asks ? "same" : "apart") << id << asked;
    }
  }
}

// Code that asks what data asks loses its translation with data's; a TLB of its own in front keeps it.
TEST(Translation, OfCodeIsToldByJumpsPastItsCaches) {
  for (const auto& [asked, verdict] : {std::pair<Json, const char*>{Json{"1"}, "same"}, {Json{"own", "1"}, "apart"}}) {
    Json text = model_with_tlbs({{"1", {{"page", "2 MiB"}, {"entries", 16}, {"miss_penalty", 20}}}});
    text["tlbs"]["own"] = {{"page", "2 MiB"}, {"entries", 8}, {"miss_penalty", 30}};
    text["caches"]["code"] = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}};
    text["paths"]["instruction"] = {{{"level", "code"}, {"latency", 0}},
                                    {{"level", "l2"}, {"latency", 300}, {"tlbs", asked}},
                                    {{"level", "device_memory"}, {"latency", 600}}};
    // Blocks that don't divide a page, too.
    for (const int block : {128, 96}) {
      text["execution"] = {{"block", block}};
      const Topology found = discovered_translation(parsed(text));
      EXPECT_EQ(found.find("tlb_l1")->structure.at("code").value, verdict) << block;
    }
    text["execution"] = {{"block", 128}, {"walked", "12 KiB"}};
    const Topology found = discovered_translation(parsed(text));
    EXPECT_EQ(found.find("tlb_l1")->structure.at("code").status, Status::inconclusive);
  }
}

// Code that pushes other code out of its caches takes its lines out of a small L2, too, which costs a jump as much as a
// translation does or more.
TEST(Translation, OfCodeIsOpenWhereItMayBeTheL2ThatLosesIt) {
  Json text = model_with_tlbs({{"1", {{"page", "2 MiB"}, {"entries", 16}, {"miss_penalty", 20}}}});
  text["caches"]["l2"]["size"] = "256 KiB";
  text["caches"]["code"] = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}};
  text["paths"]["instruction"] = {{{"level", "code"}, {"latency", 0}},
                                  {{"level", "l2"}, {"latency", 300}},
                                  {{"level", "device_memory"}, {"latency", 600}}};
  text["execution"] = {{"block", 128}};
  const Topology found = discovered_translation(parsed(text));
  EXPECT_EQ(found.find("tlb_l1")->structure.at("code").status, Status::inconclusive);
}

// What is slower after many places were touched isn't translation where the L2 lost the line: its neighbour's touch
// doesn't bring it back.
// Lines a page and a line apart, each in the next way's next line: an XOR of both puts all of them into one set.
TEST(Translation, OfAsManyEntriesAsTheL2HasWaysIsNotThoseWays) {
  Json text = model_with_tlbs({{"1", {{"page", "256 KiB"}, {"entries", 8}, {"ways", 4}, {"miss_penalty", 60}}}});
  text["caches"]["l2"].update({{"size", "2 MiB"}, {"ways", 8}, {"index", "xor"}});
  for (const Found& found : translation_found(parsed(text), discovered_translation(parsed(text))))
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
}

// What a look begins with shared its set with the line: each look had lost its translation, and none looked at hand.
TEST(Translation, OfADirectMappedTlbIsSeenInFrontOfAnother) {
  Json text = model_with_tlbs({{"1", {{"page", "64 KiB"}, {"entries", 16}, {"ways", 1}, {"miss_penalty", 12}}},
                               {"2", {{"page", "64 KiB"}, {"entries", 64}, {"ways", 4}, {"miss_penalty", 200}}}});
  text["gpu"]["memory"] = "64 GiB";
  int exact = 0;
  for (const Found& found : translation_found(parsed(text), discovered_translation(parsed(text)))) {
    EXPECT_NE(found.answer, Answer::wrong) << text_of(found);
    exact += found.answer == Answer::exact ? 1 : 0;
  }
  EXPECT_GE(exact, 16);
}

TEST(Translation, IsNotSeenInAnL2ThatLosesItsLines) {
  Json text = model_with_tlbs(Json::object());
  text["caches"]["l2"]["size"] = "128 KiB";
  for (const Found& found : translation_found(parsed(text), discovered_translation(parsed(text))))
    ADD_FAILURE() << text_of(found);
}

TEST(Translation, OfEntriesThatReachPastAllMemoryIsLeftOpen) {
  const auto model =
      parsed(model_with_tlbs({{"1", {{"page", "32 MiB"}, {"entries", 4096}, {"ways", 8}, {"miss_penalty", 90}}}}));
  for (const Found& found : translation_found(model, discovered_translation(model)))
    EXPECT_EQ(found.answer, Answer::open) << text_of(found);
}

TEST(Translation, IsNoPartOfAPlainDiscoveryButOfOneThatNamesIt) {
  const auto model = sim::builtin_model("gt200");
  ASSERT_TRUE(model);
  EXPECT_EQ(discovered_plainly(*model).find("tlb_l1"), nullptr);
}

// A quarter more lines than the first level holds are more than the second does.
TEST(Translation, OfALevelThatHoldsLittleMoreThanTheOneBeforeIsNotTheSumOfBoth) {
  const auto all = discovered_translation(
      parsed(model_with_tlbs({{"1", {{"page", "2 MiB"}, {"entries", 16}, {"miss_penalty", 25}}},
                              {"2", {{"page", "2 MiB"}, {"entries", 20}, {"scope", "gpu"}, {"miss_penalty", 60}}}})));
  const Estimate& penalty = *all.find("tlb_l1")->find("miss_penalty");
  ASSERT_TRUE(penalty.interval) << penalty.note;
  EXPECT_LE(penalty.interval->low, 25);
  EXPECT_GE(penalty.interval->high, 25);
}

// Far places miss both of the levels behind the first, neighbours one of them: half of what far ones take isn't late.
TEST(Translation, OfALevelOfFewLargeEntriesDoesntMakeTheOneBeforeLarger) {
  Json text = model_with_tlbs(
      {{"1", {{"page", "2 MiB"}, {"entries", 16}, {"miss_penalty", 20}}},
       {"2", {{"page", "2 MiB"}, {"entries", 128}, {"ways", 8}, {"scope", "gpu"}, {"miss_penalty", 100}}},
       {"3", {{"page", "512 MiB"}, {"entries", 8}, {"scope", "gpu"}, {"miss_penalty", 150}}}});
  text["gpu"]["memory"] = "64 GiB";
  const auto all = discovered_translation(parsed(text));
  const Estimate& entries = *all.find("tlb_l2")->find("entries");
  EXPECT_LE(entries.value.value_or(0), 128);
}

// One of two loads in forty is late by a line too many, and one by a stranger: a few rounds don't tell.
TEST(Translation, OfATlbThatReplacesAtRandomHasNoMoreEntriesByStrangers) {
  Json text =
      model_with_tlbs({{"1", {{"page", "1 MiB"}, {"entries", 40}, {"replacement", "random"}, {"miss_penalty", 80}}}});
  text["gpu"]["memory"] = "2 GiB";
  for (const int seed : {1, 2, 6, 46}) {
    text["noise"] = {{"seed", seed}, {"outlier_probability", 0.05}, {"outlier_cycles", {50, 400}}};
    const auto all = discovered_translation(parsed(text));
    const Estimate& entries = *all.find("tlb_l1")->find("entries");
    EXPECT_LE(entries.value.value_or(0), 40) << seed;
  }
}

}  // namespace
}  // namespace gputopo::test
