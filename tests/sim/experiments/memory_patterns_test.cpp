// Prefetch, rows and slow lines of models that have each of them, and of models that have none.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

Json memory_model() {
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Memory"}, {"sm_count", 4}, {"memory", "2 GiB"}, {"clock_khz", 1500000}}},
          {"caches", {{"l2", {{"size", "1 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
          {"paths",
           {{"global_cached", {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 500}}}}}},
          {"noise", {{"jitter", "gaussian"}, {"cycles", 2}, {"outlier_probability", 1e-3}, {"outlier_cycles", 300}}}};
}

sim::Model parsed_memory(const Json& text) {
  const auto model = sim::parse_model(text.dump(), "memory");
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

struct SeenMemory {
  Memory found, is;

  explicit SeenMemory(const sim::Model& model) {
    Topology truth = sim::truth(model);
    sim::add_memory_patterns(model, truth);
    is = *truth.find("device_memory");
    found = *discovered_deep(model, {"device_memory"}).find("device_memory");
  }
  explicit SeenMemory(const Json& text) : SeenMemory(parsed_memory(text)) {}

  const gputopo::Statement& stated(const std::string& about) const { return found.structure.at(about); }
  void expect_prefetch(std::string_view value) const {
    EXPECT_EQ(is.structure.at("prefetch").value, value);
    EXPECT_EQ(stated("prefetch").value, value) << stated("prefetch").note;
  }
  void expect_near(const char* name, double tolerance) const {
    const Estimate* e = found.find(name);
    ASSERT_NE(e, nullptr) << name;
    ASSERT_EQ(e->status, Status::measured) << name << ": " << e->note;
    EXPECT_NEAR(*e->value, *is.find(name)->value, tolerance) << name << ": " << e->note;
  }
  void expect_latencies(double tolerance) const {
    for (const char* name : {"latency_low", "latency_middle", "latency_high"}) expect_near(name, tolerance);
  }
};

TEST(MemoryPatterns, OfPlainMemoryAreNone) {
  const SeenMemory seen(memory_model());
  seen.expect_prefetch("none");
  seen.expect_near("row_gain", 0.01);
  EXPECT_LT(seen.found.find("row_gain")->interval->high, 5);
  EXPECT_EQ(seen.stated("latency_by_line").value, "alike") << seen.stated("latency_by_line").note;
  seen.expect_latencies(4);
}

// A refresh comes at the same times after each launch. It delays loads, but no line is slow by it.
TEST(MemoryPatterns, RefreshesAreNoLines) {
  Json text = memory_model();
  text["refresh"] = {{"period", 7700}, {"busy", 500}};
  const SeenMemory seen(text);
  EXPECT_EQ(seen.stated("latency_by_line").value, "alike") << seen.stated("latency_by_line").note;
  seen.expect_latencies(4);
}

// Between the looks that ask whether TLBs keep translations few pages lie where the L2 is small: some are still there,
// and strangers delay both. What the near load of a pair brings isn't a row's then.
TEST(MemoryPatterns, OfTranslationsThatAFewLooksFindAreNoRows) {
  Json text = memory_model();
  text["gpu"].update({{"sm_count", 2}, {"memory", "8 GiB"}});
  text["caches"]["l2"] = {{"line", 64}, {"ways", 64}, {"size", 143360}, {"reserved", 8896}, {"scope", "gpu"}};
  text["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 120}, {"tlbs", {"t0"}}},
                                    {{"level", "device_memory"}, {"latency", 349.75}}};
  text["tlbs"] = {{"t0", {{"page", 32768}, {"entries", 128}, {"miss_penalty", 18}}}};
  for (const int seed : {7, 11, 25}) {
    text["noise"] = {{"outlier_probability", 0.05}, {"outlier_cycles", 400}, {"seed", seed}};
    const SeenMemory seen(text);
    const Estimate* gain = seen.found.find("row_gain");
    EXPECT_EQ(gain->status, Status::inconclusive) << seed << ": " << gain->value.value_or(-1);
  }
}

// Of pairs 64 B apart the first brings a whole line into a cache behind the L2.
TEST(MemoryPatterns, OfACacheBehindThatNothingToldAreNoRows) {
  Json text = memory_model();
  text["gpu"]["sm_count"] = 2;
  text["caches"]["l2"] = {{"size", 196608}, {"line", 128},    {"sector", 64},
                          {"ways", 3},      {"index", "xor"}, {"scope", "gpu"}};
  text["caches"]["l3"] = {{"size", 786432}, {"line", 128}, {"ways", 8}, {"scope", "gpu"}};
  text["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 240}},
                                    {{"level", "l3"}, {"latency", 384}},
                                    {{"level", "device_memory"}, {"latency", 576}}};
  const SeenMemory seen(text);
  const Estimate* gain = seen.found.find("row_gain");
  EXPECT_LT(gain->value.value_or(0), 10) << gain->note;
}

struct Ahead {
  const char* name;
  Json l2;
  const char* value;
};

class Prefetch : public testing::TestWithParam<Ahead> {};

TEST_P(Prefetch, IsToldFromWhatOneFetchBrings) {
  Json text = memory_model();
  text["caches"]["l2"].update(GetParam().l2);
  SeenMemory(text).expect_prefetch(GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Prefetch,
    testing::Values(Ahead{"one_line", {{"prefetch_lines", 1}}, "next_line"},
                    Ahead{"four_lines", {{"prefetch_lines", 4}}, "next_line"},
                    // An L2 of 1 MiB loses by what it fetches ahead what is asked whether TLBs keep its pages.
                    Ahead{
                        "more_than_a_run", {{"prefetch_lines", 200}, {"sector", 128}, {"size", "16 MiB"}}, "next_line"},
                    Ahead{"short_lines", {{"line", 32}, {"prefetch_lines", 2}}, "next_line"},
                    // What warmed the translation of a run would be a step of it, were it that near.
                    Ahead{"of_one_step", {{"prefetch_lines", 2}, {"prefetch_after", 1}}, "stride"},
                    Ahead{"of_sixteen_equal_steps", {{"prefetch_lines", 16}, {"prefetch_after", 16}}, "stride"},
                    Ahead{"of_two_equal_steps", {{"prefetch_lines", 4}, {"prefetch_after", 2}}, "stride"},
                    Ahead{"of_three_equal_steps", {{"prefetch_lines", 2}, {"prefetch_after", 3}}, "stride"},
                    Ahead{"whole_lines", {{"sector", 128}}, "none"},
                    Ahead{"long_lines", {{"line", 1024}, {"sector", 512}, {"ways", 8}}, "none"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Prefetch, BySidesIsTold) {
  Json text = memory_model();
  text["groups"] = {{"partition", 2}};
  text["caches"]["l2"].update({{"partitions", {{"count", 2}, {"mode", "near_copy"}}}});
  text["paths"]["global_cached"][0]["far_latency"] = 350;
  SeenMemory(text).expect_prefetch("none");
  text["caches"]["l2"]["prefetch_lines"] = 2;
  SeenMemory(text).expect_prefetch("next_line");
}

TEST(Prefetch, ThatNoLatencyShowsIsLeftOpen) {
  Json text = memory_model();
  text["paths"]["global_cached"][0]["latency"] = 499;
  const SeenMemory seen(text);
  EXPECT_EQ(seen.stated("prefetch").status, Status::inconclusive);
  EXPECT_NE(seen.stated("prefetch").note, "");
  EXPECT_EQ(seen.found.find("row_gain")->status, Status::inconclusive);
}

TEST(MemoryPatterns, ThatMemoryHasNoRoomForAreLeftOpen) {
  Json text = memory_model();
  text["limits"] = {{"largest_buffer", "64 MiB"}};
  const SeenMemory seen(text);
  EXPECT_EQ(seen.found.find("row_gain")->status, Status::inconclusive);
  EXPECT_EQ(seen.found.find("line_size"), nullptr);
  seen.expect_prefetch("none");
}

// Mei and Chu 2017, 4.6: of 4 KiB, walked cold, all loads but the first one hit.
TEST(Prefetch, OfFourKibibytesIsSeenOnTheModelOfTheGpuThatHasIt) {
  auto model = sim::builtin_model("kepler");
  ASSERT_TRUE(model);
  SeenMemory(*model).expect_prefetch("none");
  for (sim::CacheModel& cache : model->caches)
    if (cache.name == "l2") cache.prefetch_lines = 127;
  SeenMemory(*model).expect_prefetch("next_line");
}

// An open row of memory is faster than what lies between the L2 and memory, and nearly as fast as the L2.
TEST(Prefetch, IsNoOpenRow) {
  Json text = memory_model();
  text["paths"]["global_cached"][1]["latency"] = 320;
  text["noise"]["cycles"] = 1;
  text["rows"] = {{"size", "1 KiB"}, {"banks", 8}, {"gain", 100}};
  SeenMemory(text).expect_prefetch("none");
  text["caches"]["l2"].update({{"prefetch_lines", 4}, {"prefetch_after", 2}});
  SeenMemory(text).expect_prefetch("stride");
}

struct Rows {
  const char* name;
  Json rows;
};

class OpenRows : public testing::TestWithParam<Rows> {};

TEST_P(OpenRows, GainWhatTheyDo) {
  Json text = memory_model();
  text["rows"] = GetParam().rows;
  text["distance"] = {{"slices", 40}};
  const SeenMemory seen(text);
  const double gain = GetParam().rows["gain"];
  seen.expect_near("row_gain", 0.1 * gain + 1);
  seen.expect_prefetch("none");
}

INSTANTIATE_TEST_SUITE_P(Kinds, OpenRows,
                         testing::Values(Rows{"short_rows", {{"size", "1 KiB"}, {"gain", 40}}},
                                         Rows{"usual_rows", {{"size", "2 KiB"}, {"banks", 64}, {"gain", 60}}},
                                         Rows{"long_rows", {{"size", "16 KiB"}, {"banks", 256}, {"gain", 15}}},
                                         Rows{"no_gain", {{"size", "2 KiB"}, {"gain", 0}}}),
                         [](const auto& one) { return std::string(one.param.name); });

// Translation gains where a near load brought a page's entry; a row doesn't.
TEST(OpenRowsBesideTlbs, AreNotTranslation) {
  Json text = memory_model();
  text["tlbs"] = {{"one", {{"page", "64 KiB"}, {"entries", 16}, {"miss_penalty", 60}}}};
  text["paths"]["global_cached"][0]["tlbs"] = {"one"};
  const SeenMemory seen(text);
  seen.expect_near("row_gain", 0.01);
}

// TLBs that another SM's loads fill as well, or that keep a little less than what is looked at, make none of these.
TEST(PatternsBesideSharedTlbs, OfAllSMsArentMemorys) {
  for (const Json& tlb : {Json{{"page", "4 KiB"}, {"entries", 64}, {"miss_penalty", 60}},
                          {{"page", "64 KiB"}, {"entries", 64}, {"miss_penalty", 320}},
                          {{"page", "64 KiB"}, {"entries", 64}, {"miss_penalty", 320}, {"replacement", "tree_plru"}}}) {
    Json text = memory_model();
    text["tlbs"] = {{"one", tlb}};
    text["tlbs"]["one"]["scope"] = "gpu";
    text["paths"]["global_cached"][0]["tlbs"] = {"one"};
    const SeenMemory seen(text);
    const Estimate& gain = *seen.found.find("row_gain");
    EXPECT_TRUE(!gain.value || *gain.value < 1) << tlb << *gain.value << gain.note;
    const auto& by_line = seen.stated("latency_by_line");
    EXPECT_TRUE(by_line.value.empty() || by_line.value == "alike") << tlb << by_line.value << by_line.note;
    for (const char* name : {"latency_low", "latency_middle", "latency_high"}) {
      const Estimate& e = *seen.found.find(name);
      EXPECT_TRUE(!e.value || *e.value < 520) << tlb << name << *e.value;
    }
  }
  // One that keeps all of them leaves them to be told.
  Json text = memory_model();
  text["tlbs"] = {{"one", {{"page", "2 MiB"}, {"entries", 512}, {"miss_penalty", 320}, {"scope", "gpu"}}}};
  text["paths"]["global_cached"][0]["tlbs"] = {"one"};
  EXPECT_EQ(SeenMemory(text).stated("latency_by_line").value, "alike");
}

// The line next to it is what a cache behind the L2 brought in as well.
TEST(OpenRows, AreNotLinesOfACacheBehindTheL2) {
  Json text = memory_model();
  text["caches"]["l3"] = {{"size", "4 MiB"}, {"line", 256}, {"ways", 16}, {"scope", "gpu"}};
  text["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 200}},
                                    {{"level", "l3"}, {"latency", 380}},
                                    {{"level", "device_memory"}, {"latency", 500}}};
  const SeenMemory seen(text);
  const Estimate& gain = *seen.found.find("row_gain");
  if (gain.value) {
    EXPECT_LE(gain.status == Status::upper_bound ? 0 : *gain.value, 0.01) << gain.note;
  }
  EXPECT_EQ(seen.stated("latency_by_line").value, "alike") << seen.stated("latency_by_line").note;
}

class PatternsBesideTlbs : public testing::TestWithParam<Json> {};

// A load nearby brings no translation of pages that are smaller than those that GPUs have: each cold load waits for it.
// TLBs that keep all lines that a check looks at keep less than a flush is of.
TEST_P(PatternsBesideTlbs, ThatKeepTooLittleAreLeftOpen) {
  Json text = memory_model();
  text["tlbs"] = {{"one", GetParam()}};
  text["paths"]["global_cached"][0]["tlbs"] = {"one"};
  text["distance"] = {{"slices", 50}};
  const SeenMemory seen(text);
  EXPECT_EQ(seen.stated("prefetch").status, Status::inconclusive);
  EXPECT_EQ(seen.stated("latency_by_line").status, Status::inconclusive);
  for (const char* name : {"row_gain", "latency_low", "latency_middle", "latency_high"})
    EXPECT_EQ(seen.found.find(name)->status, Status::inconclusive) << name;
  for (const std::string& note :
       {seen.stated("prefetch").note, seen.stated("latency_by_line").note, seen.found.find("row_gain")->note})
    EXPECT_NE(note.find("translation"), std::string::npos) << note;
}

INSTANTIATE_TEST_SUITE_P(Tlbs, PatternsBesideTlbs,
                         testing::Values(Json{{"page", "4 KiB"}, {"entries", 16}, {"miss_penalty", 60}},
                                         Json{{"page", "16 KiB"}, {"entries", 256}, {"miss_penalty", 60}},
                                         Json{
                                             {"page", "16 KiB"}, {"entries", 256}, {"miss_penalty", 20}, {"ways", 4}}));

TEST(Lines, ThatDifferBySliceAreSpread) {
  Json text = memory_model();
  text["distance"] = {{"slices", 50}};
  const SeenMemory seen(text);
  EXPECT_EQ(seen.stated("latency_by_line").value, "spread") << seen.stated("latency_by_line").note;
  seen.expect_latencies(6);
}

TEST(Lines, OfTwoSidesAreOfTwoKinds) {
  Json text = memory_model();
  text["groups"] = {{"partition", 2}};
  text["caches"]["l2"]["partitions"] = {{"count", 2}};
  text["paths"]["global_cached"][0]["far_latency"] = 350;
  text["paths"]["global_cached"][1]["far_latency"] = 700;
  text["distance"] = {{"slices", 20}};
  const SeenMemory seen(text);
  EXPECT_EQ(seen.stated("latency_by_line").value, "two_kinds") << seen.stated("latency_by_line").note;
  seen.expect_near("latency_low", 6);
  seen.expect_near("latency_high", 6);
}

// Rows that are open from load to load make the quicker looks at some lines shorter than these take, never longer.
TEST(Lines, OfRowsThatStayOpenAreBoundedBelow) {
  const Json memory = {{"size", "8 KiB"}, {"banks", 256}, {"gain", 20}};
  Json text = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Rows"}, {"memory", "4 GiB"}, {"clock_khz", 1500000}, {"sm_count", 2}}},
      {"caches", {{"l2", {{"size", "128 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths",
       {{"global_cached", {{{"level", "l2"}, {"latency", 150}}, {{"level", "device_memory"}, {"latency", 255}}}}}},
      {"rows", memory}};
  const SeenMemory seen(text);
  for (const char* name : {"latency_low", "latency_middle", "latency_high"}) {
    const Estimate& e = *seen.found.find(name);
    if (e.status == Status::measured) {
      EXPECT_NEAR(*e.value, 255, 3) << name;
    } else if (e.value) {
      EXPECT_EQ(e.status, Status::lower_bound) << name;
      EXPECT_LE(*e.value, 255) << name;
    }
  }
}

// A cache without sides between them changes nothing of where a line of memory lies.
TEST(Lines, OfMemoryLieBesideTheirHomesWhateverIsBetween) {
  Json text = memory_model();
  text["groups"] = {{"partition", {{0, 1}, {2, 3}}}};
  text["caches"]["l2"]["partitions"] = {{"count", 2}, {"mode", "home"}};
  text["caches"]["l3"] = {{"size", "2 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}};
  text["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 200}, {"far_latency", 229}},
                                    {{"level", "l3"}, {"latency", 270}},
                                    {{"level", "device_memory"}, {"latency", 440}, {"far_latency", 470}}};
  const Estimate latency = *SeenMemory(text).found.find("latency");
  ASSERT_EQ(latency.status, Status::measured) << latency.note;
  EXPECT_NEAR(*latency.value, 455, 3);
}

// Loads of two kinds, and lines of one.
TEST(Lines, AreAlikeWhereLoadsAreSlowByChance) {
  Json text = memory_model();
  text["noise"]["outlier_probability"] = 0.2;
  text["noise"]["outlier_cycles"] = 200;
  const SeenMemory seen(text);
  EXPECT_NE(seen.stated("latency_by_line").value, "two_kinds") << seen.stated("latency_by_line").note;
  EXPECT_NE(seen.stated("latency_by_line").value, "spread") << seen.stated("latency_by_line").note;
  EXPECT_NEAR(*seen.found.find("latency_excess")->value, 200, 10);
}

TEST(LatencyPatterns, AddWhatTlbsTake) {
  const auto model = sim::builtin_model("kepler");
  ASSERT_TRUE(model);
  Topology truth = sim::truth(*model);
  sim::add_translation(*model, truth);
  sim::add_memory_patterns(*model, truth);
  const Topology found = discovered_deep(*model, {"l2", "device_memory", "tlb_l1", "tlb_l2"});
  for (const char* id : {"l2", "device_memory"})
    for (const char* name : {"latency_after_tlb_miss_1", "latency_after_tlb_miss_2"}) {
      const Estimate* e = found.find(id)->find(name);
      ASSERT_NE(e, nullptr) << id << '.' << name;
      EXPECT_NEAR(*e->value, *truth.find(id)->find(name)->value, 6) << id << '.' << name;
    }
  EXPECT_EQ(found.find("device_memory")->find("latency_after_tlb_miss_3"), nullptr);
}

TEST(LatencyPatterns, AreNoPartOfAPlainDiscovery) {
  const auto model = sim::builtin_model("kepler");
  ASSERT_TRUE(model);
  const Topology found = discovered_plainly(*model);
  EXPECT_EQ(found.find("device_memory")->find("row_gain"), nullptr);
  EXPECT_EQ(found.find("device_memory")->structure.count("prefetch"), 0U);
}

}  // namespace
}  // namespace gputopo::test
