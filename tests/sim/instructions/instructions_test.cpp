// Instruction caches of models whose truth is known: those of the source documents and of the H200, and none at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "tests/sim/instructions/found_instructions.hpp"

namespace gputopo::test {
namespace {

// Wong et al. 2010, section J: 4 KiB of 4 sets of 4 ways for each SM, 8 KiB for each TPC and 32 KiB for all, both of
// which constants share. A miss of the first brings in as little as a block is long, which is no more than a bound.
TEST(Instructions, OfGt200ComeBackExactly) {
  const auto model = sim::builtin_model("gt200");
  ASSERT_TRUE(model);
  const Topology found = discovered_instructions(*model);
  const auto all = instructions_found(*model, found);
  EXPECT_GE(all.size(), 37U);
  for (const Found& f : all) {
    EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
    // Nor what less than a block, or than the cache in front asks for at once, would be.
    const bool is_bound = f.memory != "instruction_l1_5" && f.quantity == "sector_size";
    // Behind another cache, which would answer orders other than the walk's, what goes next doesn't show.
    const bool is_hidden = f.memory != "instruction_l1" && f.quantity == "replacement";
    // Nothing waits for what the nearest one has.
    const bool is_pace = f.memory == "instruction_l1" && f.quantity.ends_with("fetch_bandwidth");
    if (!is_bound && !is_hidden && !is_pace) {
      EXPECT_EQ(f.answer, Answer::exact) << text_of(f);
    }
  }
  ASSERT_NE(found.find("instruction_l1"), nullptr);
  EXPECT_EQ(found.find("instruction_l1")->find("sector_size")->status, Status::upper_bound);
  EXPECT_EQ(found.find("instruction_l1")->find("fetch_bandwidth")->status, Status::lower_bound);
  EXPECT_EQ(found.find("instruction_l1_5")->physical_cache, "constant_l1_5");
}

class DocumentedInstructions : public testing::TestWithParam<const char*> {};

TEST_P(DocumentedInstructions, AreToldRight) {
  const auto model = sim::builtin_model(GetParam());
  ASSERT_TRUE(model);
  int exact = 0;
  for (const Found& f : instructions_found(*model, discovered_instructions(*model))) {
    EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
    exact += f.answer == Answer::exact ? 1 : 0;
  }
  EXPECT_GE(exact, 12);
}

INSTANTIATE_TEST_SUITE_P(Models, DocumentedInstructions, testing::Values("fermi", "kepler", "maxwell", "v100", "a100"),
                         [](const auto& one) { return std::string(one.param); });

// One scheduler's code pushes out nothing of another's: an L0. The walk's own code takes a part of it.
TEST(Instructions, OfTheH200HaveAnL0OfEachScheduler) {
  const auto model = sim::builtin_model("h200");
  ASSERT_TRUE(model);
  // And whose cache the L1.5 is.
  const Topology found =
      discovered_deep(*model, {"instruction_l0", "instruction_l1", "instruction_l1_5", "constant_l1_5"});
  const Memory* l0 = found.find("instruction_l0");
  ASSERT_NE(l0, nullptr);
  EXPECT_EQ(l0->instances_per_scope, 4U);
  EXPECT_EQ(l0->find("size")->status, Status::lower_bound);
  EXPECT_EQ(*l0->find("size")->value, 6144 - 640);
  EXPECT_EQ(found.find("instruction_l1")->sm_groups.size(), 66U);
  EXPECT_EQ(found.find("instruction_l1_5")->find("fetch_bandwidth")->status, Status::measured);
  EXPECT_EQ(found.find("instruction_l1_5")->structure.at("replacement").status, Status::measured);
  for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
}

// Of one way, the walk's own code makes lines of some sets miss all along: one too many of these adds none.
TEST(Instructions, OfOneWayHaveNoMoreThanFitsBesideTheWalksOwn) {
  nlohmann::json text = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Code"}, {"sm_count", 4}, {"memory", "4 GiB"}, {"clock_khz", 1500000}}},
      {"caches",
       {{"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}},
        {"near", {{"size", "8 KiB"}, {"line", 128}, {"ways", 1}}}}},
      {"paths",
       {{"global_cached", {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 450}}}},
        {"instruction",
         {{{"level", "near"}, {"latency", 0}},
          {{"level", "l2"}, {"latency", 200}},
          {{"level", "device_memory"}, {"latency", 450}}}}}},
      {"noise", {{"jitter", "gaussian"}, {"cycles", 0.7}}},
      {"execution", {{"block", 128}, {"between", 640}, {"walked", "240 KiB"}}}};
  const auto model = sim::parse_model(text.dump(), "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_deep(*model, {"instruction_l1"});
  const Estimate& size = *found.find("instruction_l1")->find("size");
  ASSERT_EQ(size.status, Status::lower_bound) << size.note;
  EXPECT_LE(*size.value, 8192);
  EXPECT_GE(*size.value, 8192 - 2 * 640);
}

// A nearest cache that forgets the walk's own code, so that some sets of the next one hold that: no footprint then says
// what the next one holds, and what is held of more code is less by it.
nlohmann::json behind_a_forgetful_one(const char* replacement, const char* index) {
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Code"}, {"sm_count", 8}, {"memory", "4 GiB"}, {"clock_khz", 1500000}}},
          {"groups", {{"tpc", 2}, {"gpc", 4}}},
          {"caches",
           {{"l2", {{"size", "2 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}},
            {"near", {{"size", 1792}, {"line", 128}, {"sets", 1}, {"replacement", "fifo"}}},
            {"next",
             {{"size", "32 KiB"},
              {"line", 128},
              {"ways", 4},
              {"replacement", replacement},
              {"index", index},
              {"scope", "tpc"}}}}},
          {"paths",
           {{"global_cached", {{{"level", "l2"}, {"latency", 220}}, {{"level", "device_memory"}, {"latency", 520}}}},
            {"instruction",
             {{{"level", "near"}, {"latency", 0}},
              {{"level", "next"}, {"latency", 11}},
              {{"level", "l2"}, {"latency", 277}},
              {{"level", "device_memory"}, {"latency", 600}}}}}},
          {"execution", {{"block", 128}, {"between", 640}, {"walked", "80 KiB"}}},
          {"noise", {{"jitter", "gaussian"}, {"cycles", 0.6}, {"seed", 3}}}};
}

TEST(Instructions, BehindACacheThatForgetsTheWalkAreToldByLinesFarApart) {
  using Text = const char*;
  for (const auto& [replacement, index, is_told] : {std::tuple<Text, Text, bool>{"lru", "modulo", true},
                                                    {"fifo", "modulo", true},
                                                    {"random", "modulo", false},
                                                    {"lru", "xor", false}}) {
    const auto model = sim::parse_model(behind_a_forgetful_one(replacement, index).dump(), "code");
    ASSERT_TRUE(model) << model.error().message;
    const Topology found = discovered_instructions(*model);
    for (const Found& f : instructions_found(*model, found))
      EXPECT_NE(f.answer, Answer::wrong) << replacement << ' ' << index << ' ' << text_of(f);
    const Memory* next = found.find("instruction_l1_5");
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(next->find("size")->status == Status::measured, is_told) << replacement << ' ' << index;
    EXPECT_EQ(next->find("ways")->value == 4.0, is_told) << replacement << ' ' << index;
  }
}

// A fetch from the L2 brings two sectors of the nearest cache, of which the next one then serves the second.
TEST(Instructions, AreFetchedFromTheL2AsFastAsItBringsWhatBothTake) {
  nlohmann::json text = behind_a_forgetful_one("lru", "modulo");
  text["caches"]["next"]["line"] = 256;
  const auto model = sim::parse_model(text.dump(), "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_deep(*model, {"instruction_l1", "instruction_l1_5", "l2"});
  ASSERT_NE(found.find("l2"), nullptr);
  const Estimate* rate = found.find("l2")->find("fetch_bandwidth");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->status, Status::measured);
  EXPECT_NEAR(*rate->value, 256.0 / (277 + 11 + 2 * 16), 0.01);
}

nlohmann::json three_levels_of_code(const nlohmann::json& near, const nlohmann::json& next) {
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Code"}, {"sm_count", 2}, {"memory", "4 GiB"}, {"clock_khz", 1500000}}},
          {"caches",
           {{"l2", {{"size", "1 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}},
            {"near", near},
            {"next", next}}},
          {"paths",
           {{"global_cached", {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 400}}}},
            {"instruction",
             {{{"level", "near"}, {"latency", 0}},
              {{"level", "next"}, {"latency", 25}},
              {{"level", "l2"}, {"latency", 200}},
              {{"level", "device_memory"}, {"latency", 400}}}}}},
          {"execution", {{"block", 128}, {"walked", "240 KiB"}}}};
}

// Of the few blocks of a short walk most lie where the walk's own code pushes them out of a cache of one way.
TEST(Instructions, OfOneWayShowBesideTheWalksOwnCode) {
  nlohmann::json text = three_levels_of_code({{"size", "16 KiB"}, {"line", 128}, {"ways", 1}},
                                             {{"size", "64 KiB"}, {"line", 128}, {"ways", 8}});
  text["execution"]["between"] = 256;
  const auto model = sim::parse_model(text.dump(), "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_instructions(*model);
  for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
  ASSERT_NE(found.find("instruction_l1"), nullptr);
  EXPECT_EQ(found.find("instruction_l1")->parent, "instruction_l1_5");
  EXPECT_NEAR(found.find("instruction_l1")->find("miss_penalty")->value.value_or(0), 25, 2);
  ASSERT_NE(found.find("instruction_l1_5"), nullptr);
  EXPECT_EQ(found.find("instruction_l1_5")->find("size")->value, 65536);
}

// What serves all the code that can be walked isn't the L2 for that.
TEST(Instructions, BeforeACacheThatHoldsAllCodeAreLeftOpen) {
  const auto model = sim::parse_model(three_levels_of_code({{"size", "16 KiB"}, {"line", 128}, {"ways", 4}},
                                                           {{"size", "512 KiB"}, {"line", 128}, {"ways", 8}})
                                          .dump(),
                                      "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_instructions(*model);
  for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
  const Memory* l1 = found.find("instruction_l1");
  ASSERT_NE(l1, nullptr);
  EXPECT_EQ(l1->find("size")->status, Status::inconclusive);
  EXPECT_THAT(l1->find("size")->note, testing::HasSubstr("isn't the L2"));
  EXPECT_EQ(l1->parent, "");
}

// Nor do they fill half of all sets where these differ.
TEST(Instructions, OfLinesShorterThanABlockInUnequalSetsAreABound) {
  const auto model = sim::parse_model(
      three_levels_of_code({{"size", "8 KiB"}, {"line", 128}, {"sector", 64}, {"ways", 4}},
                           {{"size", 14400}, {"line", 64}, {"set_ways", {27, 29, 28, 30, 28, 28, 28, 27}}})
          .dump(),
      "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_instructions(*model);
  for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
  ASSERT_NE(found.find("instruction_l1_5"), nullptr);
  EXPECT_EQ(found.find("instruction_l1_5")->find("size")->status, Status::upper_bound);
}

nlohmann::json one_level_of_code(const nlohmann::json& cache, const nlohmann::json& execution) {
  const nlohmann::json beyond = {{{"level", "l2"}, {"latency", 190}}, {{"level", "device_memory"}, {"latency", 320}}};
  nlohmann::json code = nlohmann::json::array({{{"level", "code"}, {"latency", 0}}});
  code.insert(code.end(), beyond.begin(), beyond.end());
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Code"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
          {"caches", {{"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}, {"code", cache}}},
          {"paths", {{"global_cached", beyond}, {"instruction", code}}},
          {"execution", execution}};
}

// Code is walked in one order, in which a tree of bits over ways that are no power of two loses a few lines of a set
// alone, always the same ones: they are neither its ways nor anything to tell a policy by.
TEST(Instructions, OfATreeSayNothingOfSetsByTheLinesThatOneOrderLoses) {
  const nlohmann::json text = one_level_of_code(
      {{"size", "48 KiB"}, {"line", 128}, {"ways", 6}, {"replacement", "tree_plru"}}, {{"block", 128}});
  const auto model = sim::parse_model(text.dump(), "tree");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_instructions(*model);
  for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
  const Memory* l1 = found.find("instruction_l1");
  ASSERT_NE(l1, nullptr);
  EXPECT_EQ(l1->find("size")->value, 49152);
  EXPECT_EQ(l1->find("ways")->status, Status::inconclusive);
  ASSERT_EQ(l1->structure.count("replacement"), 1U);
  EXPECT_EQ(l1->structure.at("replacement").status, Status::inconclusive);
  EXPECT_THAT(l1->structure.at("replacement").note, testing::HasSubstr("two sets"));
}

// Of each block of code a walk asks for the first line alone. A hash spreads these over all sets: twice as many blocks
// seem to fit as do.
TEST(Instructions, OfLinesShorterThanABlockAreNotTwiceAsLarge) {
  const nlohmann::json text = one_level_of_code({{"size", 4096}, {"line", 64}, {"ways", 8}, {"index", "xor"}},
                                                {{"instruction", 8}, {"block", 128}});
  const auto model = sim::parse_model(text.dump(), "lines");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_instructions(*model);
  for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
  const Memory* l1 = found.find("instruction_l1");
  ASSERT_NE(l1, nullptr);
  EXPECT_FALSE(l1->find("size")->has_value()) << *l1->find("size")->value;
}

nlohmann::json code_before_an_l2(nlohmann::json cache, int between, nlohmann::json l2) {
  const nlohmann::json beyond = {{{"level", "l2"}, {"latency", 195}}, {{"level", "device_memory"}, {"latency", 480}}};
  nlohmann::json code = nlohmann::json::array({{{"level", "code"}, {"latency", 0}}});
  code.insert(code.end(), beyond.begin(), beyond.end());
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Few lines"}, {"sm_count", 6}, {"memory", "4 GiB"}, {"clock_khz", 1200000}}},
          {"groups", {{"gpc", 3}}},
          {"caches", {{"l2", std::move(l2)}, {"code", std::move(cache)}}},
          {"paths", {{"global_cached", beyond}, {"instruction", code}}},
          {"execution", {{"block", 128}, {"walked", "240 KiB"}, {"between", between}}}};
}

// Beside a neighbour that takes turns, and of a tree of bits over very many ways, some of the code is lost long before
// the L2 is full.
TEST(Instructions, InAnL2BesideANeighbourAreNoCacheOfTheirOwn) {
  nlohmann::json text = code_before_an_l2(
      {{"size", 1024}, {"line", 64}, {"ways", 4}, {"reserved", 64}, {"shared_by", 3}}, 256,
      {{"size", 143104}, {"line", 128}, {"sector", 32}, {"replacement", "tree_plru"}, {"scope", "gpc"}});
  text["neighbour"] = {{"slice_us", {2000, 2050}}, {"away_us", {1000, 1010}}, {"l2_share", 0.1}};
  text["gpu"]["sm_count"] = 9;
  text["clock_overhead"] = 39;
  text["caches"]["l3"] = {{"size", 327680}, {"line", 64}, {"ways", 32}, {"index", "xor"}, {"scope", "gpu"}};
  for (const char* path : {"global_cached", "instruction"}) {
    auto& levels = text["paths"][path];
    levels.back()["latency"] = 670.5;
    levels.insert(levels.end() - 1, nlohmann::json{{"level", "l3"}, {"latency", 479.5}});
  }
  text["paths"]["global_l2_only"] = text["paths"]["global_cached"];
  for (const auto& [clock_khz, seed] : {std::pair{300000, 1098}, {500000, 1097}, {800000, 1096}}) {
    text["gpu"]["clock_khz"] = clock_khz;
    text["noise"] = {{"seed", seed}, {"jitter", "gaussian"}, {"cycles", 0.5}};
    const auto model = sim::parse_model(text.dump(), "code");
    ASSERT_TRUE(model) << model.error().message;
    const Topology found = discovered_instructions(*model);
    EXPECT_EQ(found.find("instruction_l1_5"), nullptr) << clock_khz << " kHz, noise " << seed;
  }
}

// An L2 that all the code overflows shows as one more cache of code does.
TEST(Instructions, InAnL2ThatTheyOverflowAreNoCacheOfTheirOwn) {
  nlohmann::json text = behind_a_forgetful_one("lru", "modulo");
  text["caches"]["l2"]["size"] = "128 KiB";
  text["execution"]["walked"] = "256 KiB";
  const auto model = sim::parse_model(text.dump(), "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_instructions(*model);
  EXPECT_EQ(found.find("instruction_l2"), nullptr);
  ASSERT_NE(found.find("instruction_l1_5"), nullptr);
  EXPECT_EQ(found.find("instruction_l1_5")->parent, "l2");
  for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
}

// Of what a cache lost half comes from the other side, and three quarters from the others of four: near lines are
// compared with near ones, and what streams through is of all.
TEST(Instructions, BeforeAnL2OfSidesMissAsItsNearLinesHit) {
  for (const int sides : {2, 4}) {
    nlohmann::json text =
        code_before_an_l2({{"size", sides == 2 ? "48 KiB" : "8 KiB"}, {"line", 128}, {"ways", sides == 2 ? 6 : 4}}, 24,
                          {{"size", "8 MiB"}, {"line", 128}, {"ways", 16}, {"index", "hash"}, {"scope", "gpu"}});
    text["groups"]["partition"] = {{"interleaved", sides}};
    text["caches"]["l2"]["partitions"] = {{"count", sides}, {"mode", "home"}, {"interleave", "4 KiB"}};
    double near = 0;
    for (auto& [path, levels] : text["paths"].items())
      for (auto& level : levels)
        if (level["level"] == "l2") near = level["latency"], level["far_latency"] = near + 180;
    const auto model = sim::parse_model(text.dump(), "sides");
    ASSERT_TRUE(model) << model.error().message;
    const Topology found = discovered_instructions(*model);
    EXPECT_LT(found.find("instruction_l1")->find("miss_penalty")->value.value_or(0), near + 90) << sides;
    for (const Found& f : instructions_found(*model, found))
      EXPECT_NE(f.answer, Answer::wrong) << sides << ' ' << text_of(f);
  }
}

TEST(Instructions, InTheConstantsNearestCacheAreToldByItsSize) {
  nlohmann::json text = behind_a_forgetful_one("lru", "modulo");
  text["caches"]["near"] = {{"size", 2048}, {"line", 64}, {"sets", 8}, {"ways", 4}};
  text["execution"] = {{"block", 64}};
  text["paths"]["constant"] = {{{"level", "near"}, {"latency", 30}},
                               {{"level", "next"}, {"latency", 60}},
                               {{"level", "l2"}, {"latency", 220}},
                               {{"level", "device_memory"}, {"latency", 520}}};
  const auto model = sim::parse_model(text.dump(), "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found =
      discovered_deep(*model, {"instruction_l1", "instruction_l1_5", "constant_l1", "constant_l1_5"});
  ASSERT_NE(found.find("instruction_l1_5"), nullptr);
  EXPECT_EQ(found.find("instruction_l1")->physical_cache, "constant_l1");
  EXPECT_EQ(found.find("instruction_l1_5")->physical_cache, "constant_l1_5");
}

// It keeps some of twice as much, whose lines four blocks share: a fifth of the jumps over that miss.
TEST(Instructions, InAConstantsCacheThatDoesntGoByAgeAreInThat) {
  const auto model = sim::parse_model(R"({
    "schema": "gputopo-model/1", "gpu": {"name": "By chance", "sm_count": 2, "memory": "2 GiB", "clock_khz": 1500000},
    "caches": {"c1": {"size": 4096, "line": 32, "ways": 4, "replacement": "tree_plru"},
               "c15": {"size": 28672, "line": 256, "ways": 16, "replacement": "not_most_recent", "consecutive_lines": 2},
               "l2": {"size": 393216, "line": 256, "ways": 12, "scope": "gpu", "sector": 64},
               "ic": {"size": 4096, "line": 128, "ways": 8, "replacement": "fifo", "index": "xor"}},
    "paths": {"global_cached": [{"level": "l2", "latency": 110}, {"level": "device_memory", "latency": 132}],
      "constant": [{"level": "c1", "latency": 20}, {"level": "c15", "latency": 26}, {"level": "l2", "latency": 140},
                   {"level": "device_memory", "latency": 162}],
      "instruction": [{"level": "ic", "latency": 0}, {"level": "c15", "latency": 40}, {"level": "l2", "latency": 95},
                      {"level": "device_memory", "latency": 117}]}})",
                                      "by chance");
  ASSERT_TRUE(model) << model.error().message;
  experiments::DiscoverOptions options;  // with what tells whose code constants lose
  options.only = {"instruction_l1", "instruction_l1_5", "constant_l1_5"};
  options.deep = true;
  const auto found = experiments::discover(*sim::make_device(*model), options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->find("instruction_l1_5")->physical_cache, "constant_l1_5");
}

TEST(Instructions, AreDeepAndNeverMeasuredUnasked) {
  const auto model = sim::builtin_model("gt200");
  ASSERT_TRUE(model);
  EXPECT_EQ(discovered_plainly(*model).find("instruction_l1"), nullptr);
}

// What is told apart is a tenth: of two that are nearer the one behind was stated as though it were alone, under the
// name of the one in front.
TEST(Instructions, OfTwoCachesNearEachOtherAreNotToldAsOne) {
  for (const double behind : {21.0, 23.0}) {
    const nlohmann::json text = {
        {"schema", "gputopo-model/1"},
        {"gpu", {{"name", "Code"}, {"sm_count", 4}, {"memory", "4 GiB"}, {"clock_khz", 1500000}}},
        {"caches",
         {{"near", {{"size", "4 KiB"}, {"line", 128}, {"ways", 4}}},
          {"next", {{"size", "16 KiB"}, {"line", 128}, {"ways", 8}}},
          {"third", {{"size", "64 KiB"}, {"line", 128}, {"ways", 8}}},
          {"l2", {{"size", "256 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
        {"paths",
         {{"global_cached", {{{"level", "l2"}, {"latency", 210}}, {{"level", "device_memory"}, {"latency", 520}}}},
          {"instruction",
           {{{"level", "near"}, {"latency", 0}},
            {{"level", "next"}, {"latency", 20}},
            {{"level", "third"}, {"latency", behind}},
            {{"level", "l2"}, {"latency", 210}},
            {{"level", "device_memory"}, {"latency", 510}}}}}},
        {"execution", {{"block", 128}}},
        {"noise", {{"jitter", "uniform"}, {"cycles", 1}, {"outlier_probability", 2e-3}, {"outlier_cycles", 300}}}};
    const auto model = sim::parse_model(text.dump(), "code");
    ASSERT_TRUE(model) << model.error().message;
    const Topology found = discovered_instructions(*model);
    for (const Found& f : instructions_found(*model, found)) EXPECT_NE(f.answer, Answer::wrong) << text_of(f);
  }
}

TEST(Instructions, WithoutACacheAreLeftOpen) {
  const nlohmann::json text = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Code"}, {"sm_count", 2}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
      {"caches", {{"l2", {{"size", "2 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths",
       {{"global_cached", {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 500}}}},
        {"instruction", {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 500}}}}}}};
  const auto model = sim::parse_model(text.dump(), "code");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_instructions(*model);
  for (const Memory& m : found.memories)
    for (const auto& [name, e] : m.attributes) EXPECT_EQ(e.status, Status::inconclusive) << m.id << " " << name;
}

}  // namespace
}  // namespace gputopo::test
