// One thing that looks like another: constants that all fit into a cache, a level that has no name, paths past the L2,
// levels nearer to each other than their loads differ, a cache close behind the L2, open rows of DRAM that look like a
// cache or memory, loads that another program delays.
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

Json served_by(const char* cache, double latency) {
  return {{"level", cache}, {"latency", latency}};
}

Json model_of_rivals(Json caches, Json paths) {
  caches["l2"] = {{"size", "256 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}};
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Rivals"}, {"sm_count", 4}, {"memory", "4 GiB"}, {"clock_khz", 1500000}}},
          {"caches", std::move(caches)},
          {"paths", std::move(paths)},
          {"noise", {{"jitter", "gaussian"}, {"cycles", 1}, {"outlier_probability", 1e-3}, {"outlier_cycles", 300}}}};
}

Json data_path() {
  return {served_by("l2", 220), served_by("device_memory", 520)};
}

Topology found_of_rivals(const Json& text, const std::vector<std::string>& ids) {
  const auto model = sim::parse_model(text.dump(), "rivals");
  EXPECT_TRUE(model) << model.error().message;
  const auto device = sim::make_device(*model);
  experiments::DiscoverOptions options;
  options.only = ids;
  options.extras = false;
  auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found;
}

bool holds(const Estimate& e, double truth) {
  if (e.status == Status::lower_bound) return *e.value <= truth;
  return e.status == Status::measured && e.interval && e.interval->low <= truth && truth <= e.interval->high;
}

// Nothing that lies in a bank pushes anything else of it out of such a cache: the other banks do.
TEST(ConstantL1, ThatHoldsAWholeBankIsThere) {
  for (const char* size : {"16 KiB", "32 KiB"}) {
    Json text = model_of_rivals(
        {{"constant", {{"size", size}, {"line", 64}, {"ways", 16}}}},
        {{"global_cached", data_path()},
         {"constant", {served_by("constant", 60), served_by("l2", 220), served_by("device_memory", 520)}}});
    text["limits"] = {{"constant_bank", 16384}};
    const Topology found = found_of_rivals(text, {"constant_l1", "constant_l1_5"});
    const Memory& l1 = *found.find("constant_l1");
    EXPECT_EQ(l1.find("size")->status, Status::lower_bound) << l1.find("size")->note;
    EXPECT_EQ(*l1.find("size")->value, 16384);
    EXPECT_NEAR(*l1.find("latency")->value, 60, 1.5);
    EXPECT_EQ(*l1.find("sector_size")->value, 64);
    EXPECT_EQ(found.find("constant_l1_5")->find("size")->status, Status::inconclusive);
  }
}

// And where there are no others, that nothing is slower says nothing.
TEST(ConstantL1, ThatHoldsAllConstantsIsNotSaidToBeAbsent) {
  Json text = model_of_rivals(
      {{"constant", {{"size", "64 KiB"}, {"line", 64}, {"ways", 16}}}},
      {{"global_cached", data_path()},
       {"constant", {served_by("constant", 60), served_by("l2", 220), served_by("device_memory", 520)}}});
  text["limits"] = {{"constant_modules", 1}};
  const Topology found = found_of_rivals(text, {"constant_l1", "constant_l1_5"});
  for (const char* id : {"constant_l1", "constant_l1_5"})
    EXPECT_EQ(found.find(id)->find("size")->status, Status::inconclusive) << id;
}

// 16.5 cycles for 15.5, of loads that differ by 2: each by itself says nothing, and the larger one isn't the L1.
TEST(ConstantL1, InFrontOfALevelWhoseLoadsOverlapWithItsHitsIsOpen) {
  Json text = model_of_rivals({{"constant", {{"size", "2 KiB"}, {"line", 64}, {"ways", 4}, {"replacement", "random"}}},
                               {"behind", {{"size", "8 KiB"}, {"line", 64}, {"ways", 8}, {"scope", "gpu"}}}},
                              {{"global_cached", data_path()},
                               {"constant",
                                {served_by("constant", 15.5), served_by("behind", 16.5), served_by("l2", 250),
                                 served_by("device_memory", 550)}}});
  text["noise"]["cycles"] = 2;
  const Topology found = found_of_rivals(text, {"constant_l1", "constant_l1_5"});
  EXPECT_EQ(found.find("constant_l1")->find("size")->status, Status::inconclusive);
  EXPECT_EQ(found.find("constant_l1_5")->find("size")->status, Status::inconclusive);
}

// What is looked at was brought into the L2 past it, and would say that a miss costs what the L2 takes.
TEST(MissPenalty, InFrontOfACacheWithoutANameIsNotTheL2s) {
  const Json l1 = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}};
  for (const double latency : {40.0, 100.0}) {
    Json text = model_of_rivals({{"l1", l1}, {"between", {{"size", "64 KiB"}, {"line", 128}, {"ways", 8}}}},
                                {{"global_cached",
                                  {served_by("l1", 30), served_by("between", latency), served_by("l2", 220),
                                   served_by("device_memory", 520)}}});
    const Topology found = found_of_rivals(text, {"l1", "l2"});
    const Memory& cache = *found.find("l1");
    EXPECT_EQ(cache.find("miss_penalty")->status, Status::inconclusive) << *cache.find("miss_penalty")->value;
    EXPECT_EQ(cache.parent, "");
  }
  const Topology plain = found_of_rivals(
      model_of_rivals({{"l1", l1}}, {{"global_cached",
                                      {served_by("l1", 30), served_by("l2", 220), served_by("device_memory", 520)}}}),
      {"l1", "l2"});
  EXPECT_NEAR(*plain.find("l1")->find("miss_penalty")->value, 190, 1.5);
  EXPECT_EQ(plain.find("l1")->parent, "l2");
}

// Global loads pass the L2; whether other paths do is theirs to say. A path of its own may be as slow to the L2 as
// another one to memory.
TEST(Parent, IsTheL2WhereThePathPassesIt) {
  const Json small = {{"size", "4 KiB"}, {"line", 64}, {"ways", 4}};
  const Json past = {served_by("small", 110), served_by("device_memory", 500)};
  const Json through = {served_by("small", 110), served_by("l2", 480), served_by("device_memory", 780)};
  const Json constants_past = {served_by("constant", 28), served_by("device_memory", 460)};
  const Json constants_through = {served_by("constant", 28), served_by("l2", 430), served_by("device_memory", 730)};
  const auto parents = [&](const Json& path, const Json& constants) {
    const Topology found = found_of_rivals(
        model_of_rivals({{"small", small}, {"constant", {{"size", "2 KiB"}, {"line", 64}, {"ways", 4}}}},
                        {{"global_cached", data_path()}, {"texture", path}, {"constant", constants}}),
        {"texture", "constant_l1", "constant_l1_5", "l2", "device_memory"});
    return std::pair(found.find("texture")->parent, found.find("constant_l1")->parent);
  };
  // Whether memory serves constants, or a cache that holds all that could be pushed, is open.
  EXPECT_EQ(parents(past, constants_past), std::pair(std::string("device_memory"), std::string()));
  EXPECT_EQ(parents(through, constants_through), std::pair(std::string("l2"), std::string("l2")));
}

// What takes half as long as the L2 does comes from no L2: from a cache that has no name here.
TEST(Parent, IsNotTheL2WhereTheNextLevelIsFarNearer) {
  const Topology found = found_of_rivals(
      model_of_rivals({{"small", {{"size", "8 KiB"}, {"line", 64}, {"ways", 4}}},
                       {"between", {{"size", "256 KiB"}, {"line", 64}, {"ways", 16}, {"scope", "gpu"}}}},
                      {{"global_cached", {served_by("l2", 300), served_by("device_memory", 520)}},
                       {"texture",
                        {served_by("small", 100), served_by("between", 160), served_by("l2", 340),
                         served_by("device_memory", 560)}}}),
      {"texture", "l2", "device_memory"});
  EXPECT_EQ(found.find("texture")->parent, "");
}

// Words that nobody has loaded lie in a stretch that is farther than all hits that were timed.
TEST(SectorOfTheL2, IsToldOfWordsThatLieFarAway) {
  Json text = model_of_rivals({}, {{"global_cached", {served_by("l2", 220), served_by("device_memory", 480)}}});
  text["caches"]["l2"].update({{"size", "1 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}});
  text["distance"] = {{"slice", "1 MiB"}, {"slices", 20}};
  const Estimate sector = *found_of_rivals(text, {"l2"}).find("l2")->find("sector_size");
  if (sector.value) {
    EXPECT_EQ(*sector.value, 32) << sector.note;
  }
}

// A cache behind brings four of the L2's sectors at once: what memory needn't bring again is both's.
TEST(SizeOfTheL2, IsNoBoundByWhatACacheBehindHolds) {
  Json text = model_of_rivals(
      {{"l3", {{"size", 8056832}, {"line", 256}, {"sector", 256}, {"ways", 8}, {"scope", "gpu"}}}},
      {{"global_cached", {served_by("l2", 215), served_by("l3", 230.5), served_by("device_memory", 245.5)}}});
  text["caches"]["l2"].update(
      {{"size", "1 MiB"}, {"line", 128}, {"sector", 64}, {"ways", 32}, {"replacement", "not_most_recent"}});
  text["gpu"]["sm_count"] = 7;
  text["groups"] = {{"gpc", {{0, 6}, {1, 3, 4, 5}, {2}}}, {"tpc", 1}};
  text["distance"] = {{"gpc", 5.5}, {"slice", 1024}, {"sm", 12}, {"tpc", 1}};
  text["noise"] = {{"jitter", "gaussian"}, {"cycles", 1.5}};
  const Estimate size = *found_of_rivals(text, {"l2"}).find("l2")->find("measured_size");
  if (size.value) {
    EXPECT_LE(size.interval ? size.interval->low : *size.value, 1 << 20) << size.note;
  }
}

// A first load that brings a translation takes longer than the same once more, though no cache keeps what it brought.
TEST(Nearest, IsNoL1WhereTranslationsAloneAreLost) {
  Json text = model_of_rivals({}, {{"global_cached", data_path()}});
  text["tlbs"] = {{"few", {{"entries", 8}, {"page", "4 KiB"}, {"miss_penalty", 34}, {"replacement", "random"}}}};
  for (Json& level : text["paths"]["global_cached"]) level["tlbs"] = {"few"};
  EXPECT_EQ(found_of_rivals(text, {"l1"}).find("l1")->find("size")->status, Status::not_supported);
}

// Copies to and from a GPU hold a part of its L2 all the time, and nothing else shows them.
TEST(SizeOfTheL2, IsALowerBoundWhereTheDriverSaysMore) {
  for (const char* size : {"256 KiB", "232 KiB"}) {
    Json text = model_of_rivals({}, {{"global_cached", {served_by("l2", 220), served_by("device_memory", 520)}}});
    text["gpu"]["l2"] = "256 KiB";
    text["caches"]["l2"]["size"] = size;
    const Memory l2 = *found_of_rivals(text, {"l2"}).find("l2");
    EXPECT_EQ(l2.find("size")->value, 256 << 10) << "as the driver says";
    EXPECT_EQ(l2.find("measured_size")->status,
              size == std::string_view("256 KiB") ? Status::measured : Status::lower_bound);
    EXPECT_LE(*l2.find("measured_size")->value, 256 << 10);
  }
}

// What the L2 loses the cache behind it has, by longer sectors and hardly slower: every other sector comes from there.
TEST(SectorOfTheL2, IsNotThatOfACacheCloseBehindIt) {
  Json text = model_of_rivals(
      {{"l3",
        {{"size", "1 MiB"},
         {"line", 256},
         {"sector", 256},
         {"ways", 16},
         {"replacement", "random"},
         {"scope", "gpu"}}}},
      {{"global_cached", {served_by("l2", 374), served_by("l3", 398), served_by("device_memory", 482)}}});
  text["caches"]["l2"].update({{"line", 256}, {"sector", 128}});
  text.erase("noise");
  const Estimate sector = *found_of_rivals(text, {"l2"}).find("l2")->find("sector_size");
  if (sector.value) {
    EXPECT_EQ(*sector.value, 128) << sector.note;
  }
}

// The same of one that is about as far as the other side: three of four sectors come from there, none of them is a hit.
TEST(SectorOfTheL2, IsToldInFrontOfACacheWhoseSectorsAreLonger) {
  const Json behind = {{"size", "4 MiB"}, {"line", 128}, {"sector", 128}, {"ways", 16}, {"scope", "gpu"}};
  Json l2 = served_by("l2", 230);
  l2["far_latency"] = 380;
  Json text = model_of_rivals({{"l3", behind}},
                              {{"global_cached", {l2, served_by("l3", 400), served_by("device_memory", 482)}}});
  text["caches"]["l2"].update({{"line", 128},
                               {"sector", 32},
                               {"ways", 16},
                               {"partitions", {{"count", 2}, {"interleave", "4 KiB"}, {"mode", "home"}}}});
  text["groups"]["partition"] = {{"interleaved", 2}};
  const Topology found = found_of_rivals(text, {"l2"});
  EXPECT_EQ(found.find("l2")->find("sector_size")->value, 32) << found.find("l2")->find("sector_size")->note;
}

struct Opened {
  const char* name;
  Json rows, tlbs, ways;
};

class OpenRowsOf : public testing::TestWithParam<Opened> {};

// Lines that the L2 just lost lie in rows that are open still; so do lines of one page, whose translation one of them
// brought. Neither is a cache behind the L2, and memory takes more.
TEST_P(OpenRowsOf, MemoryAreNotWhatItTakes) {
  Json memory = served_by("l2", 200);
  Json text = model_of_rivals(Json::object(), Json::object());
  text["caches"]["l2"]["ways"] = GetParam().ways;
  text["rows"] = GetParam().rows;
  if (!GetParam().tlbs.is_null()) {
    text["tlbs"] = {{"tlb", GetParam().tlbs}};
    memory["tlbs"] = {"tlb"};
  }
  text["paths"] = {{"global_cached", {memory, served_by("device_memory", 500)}}};
  const Topology found = found_of_rivals(text, {"l2", "device_memory"});
  const Estimate& latency = *found.find("device_memory")->find("latency");
  const Estimate& penalty = *found.find("l2")->find("miss_penalty");
  EXPECT_TRUE(holds(latency, 500)) << *latency.value;
  EXPECT_TRUE(holds(penalty, 300)) << *penalty.value;
}

INSTANTIATE_TEST_SUITE_P(
    Models, OpenRowsOf,
    testing::Values(Opened{"as_many_as_lost_lines", {{"size", "8 KiB"}, {"banks", 512}, {"gain", 100}}, nullptr, 16},
                    Opened{"that_gain_little", {{"size", "2 KiB"}, {"banks", 16}, {"gain", 10}}, nullptr, 16},
                    Opened{"behind_an_l2_of_two_ways", {{"size", "2 KiB"}, {"banks", 16}, {"gain", 60}}, nullptr, 2},
                    Opened{"as_long_as_pages",
                           {{"size", "4 KiB"}, {"banks", 16}, {"gain", 40}},
                           {{"page", "4 KiB"}, {"entries", 16}, {"miss_penalty", 40}},
                           16}),
    [](const auto& one) { return std::string(one.param.name); });

// Delays of others hide in means what rows make nearer.
TEST(OpenRows, AreNotWhatMemoryTakesBesideATenant) {
  int told = 0;
  for (const int seed : {1, 2, 3, 4, 5380, 33}) {
    Json text =
        model_of_rivals({{"l1", {{"size", "12 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 12}}}},
                        {{"global_cached", {served_by("l1", 31), served_by("l2", 51), served_by("device_memory", 83)}},
                         {"global_l2_only", {served_by("l2", 51), served_by("device_memory", 83)}}});
    text["rows"] = {{"size", "2 KiB"}, {"banks", 128}, {"gain", 12}};
    text["tenant"] = {{"l2_lines_per_us", 1}, {"slow_share", 0.3}, {"slow_cycles", {5, 100}}};
    text["noise"] = {{"outlier_probability", 0.0494}, {"outlier_cycles", {20, 800}}, {"seed", seed}};
    const Estimate latency = *found_of_rivals(text, {"l2", "device_memory"}).find("device_memory")->find("latency");
    told += latency.has_value() ? 1 : 0;
    EXPECT_TRUE(!latency.has_value() || holds(latency, 83)) << seed << ": " << *latency.value;
  }
  EXPECT_GE(told, 3);
}

// Three kinds of slices are three kinds of hits, and memory's loads, which are farther, run together: near ones aren't
// held against all.
TEST(MissPenalty, OfSlicesInStepsIsWhatEachOfThemTakes) {
  Json text =
      model_of_rivals(Json::object(), {{"global_cached", {served_by("l2", 200), served_by("device_memory", 400)}}});
  text["distance"] = {{"slices", 20}, {"steps", 3}};
  text["caches"]["l2"].update({{"size", "128 KiB"}, {"sector", 128}, {"replacement", "not_most_recent"}});
  const Topology found = found_of_rivals(text, {"l2", "device_memory"});
  EXPECT_NEAR(*found.find("l2")->find("miss_penalty")->value, 200, 6);
}

// Memory as far from all SMs behind an L2 with sides, and rows of DRAM: near hits are held against all of it.
TEST(MissPenalty, OfAnL2WithSidesIsThatOfNearLinesBeforeRowsOfMemory) {
  Json text = model_of_rivals(
      Json::object(), {{"global_cached",
                        {{{"level", "l2"}, {"latency", 200}, {"far_latency", 300}}, served_by("device_memory", 500)}}});
  text["caches"]["l2"].update({{"size", "1 MiB"}, {"partitions", {{"count", 2}, {"mode", "home"}}}});
  text["groups"] = {{"partition", 2}};
  text["rows"] = {{"size", "2 KiB"}, {"banks", 16}, {"gain", 60}};
  const Topology found = found_of_rivals(text, {"l2", "device_memory"});
  EXPECT_NEAR(*found.find("l2")->find("miss_penalty")->value, 300, 3);
}

// Loads leave at every fourth cycle, so that some hits take longer than others: what such an L2 kept of lines that
// seemed lost is no level behind it.
TEST(MissPenalty, OfAnL2IsNoneOfHitsThatWaitToLeave) {
  Json text =
      model_of_rivals(Json::object(), {{"global_cached", {served_by("l2", 188), served_by("device_memory", 403)}}});
  text["caches"]["l2"].update({{"size", "1 MiB"}, {"replacement", "not_most_recent"}});
  text["tick"] = 4;
  text.erase("noise");
  const Topology found = found_of_rivals(text, {"l2", "device_memory"});
  const Estimate& penalty = *found.find("l2")->find("miss_penalty");
  EXPECT_TRUE(penalty.status == Status::inconclusive || std::fabs(*penalty.value - 215) < 3) << *penalty.value;
}

// The slower half of a level 10 % behind is seen, the others look like hits: halves of a line that only one look of
// each found aren't two lines.
TEST(Line, OfConstantsIsNoHalfOfItWhereALevelBehindHidesAmongHits) {
  const Json l1 = {{"size", "8 KiB"}, {"line", 128}, {"sector", 64}, {"ways", 8}, {"replacement", "random"}};
  Json text = model_of_rivals(
      {{"constant", l1}, {"constant_15", {{"size", 11776}, {"line", 128}, {"sector", 64}, {"ways", 92}}}},
      {{"global_cached", data_path()},
       {"constant",
        {served_by("constant", 54.5), served_by("constant_15", 59.9), served_by("l2", 255),
         served_by("device_memory", 285)}}});
  text["noise"].update({{"jitter", "uniform"}, {"cycles", 3}, {"outlier_probability", 0.02}});
  for (const int seed : {2, 4}) {
    text["noise"]["seed"] = seed;
    const Topology found = found_of_rivals(text, {"constant_l1"});
    const Estimate* line = found.find("constant_l1")->find("line_size");
    EXPECT_TRUE(line == nullptr || !line->has_value() || *line->value == 128) << *line->value;
  }
}

// Loads that another program delays, four in ten: what the clock adds is told by the others, and so is each line.
TEST(Latency, OfTheL2IsThatOfLoadsThatNothingDelays) {
  Json text = model_of_rivals(Json::object(), {{"global_cached", data_path()}, {"global_l2_only", data_path()}});
  text["clock_overhead"] = {{"default", 17}};
  text["noise"] = {{"jitter", "uniform"}, {"cycles", 2}};
  text["tenant"] = {
      {"l2_lines_per_us", 0}, {"sm_lines_per_us", 0}, {"slow_share", 0.38}, {"slow_cycles", {50.0, 69.0}}};
  const Topology found = found_of_rivals(text, {"l2", "device_memory"});
  for (const auto& [id, cycles] : {std::pair("l2", 220.0), {"device_memory", 520.0}}) {
    const Estimate& latency = *found.find(id)->find("latency");
    ASSERT_EQ(latency.status, Status::measured) << id << latency.note;
    EXPECT_NEAR(*latency.value, cycles, 2.5) << id;
  }
  // One that fills the L2 besides was seen to run at the same time, and may do anything to its latency.
  text["tenant"]["l2_lines_per_us"] = 2;
  EXPECT_EQ(found_of_rivals(text, {"l2"}).find("l2")->find("latency")->status, Status::inconclusive);
}

}  // namespace
}  // namespace gputopo::test
