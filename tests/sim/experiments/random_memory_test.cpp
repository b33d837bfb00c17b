// Any memory behind any L2: what is said of prefetch, rows and lines is true, or left open.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "tests/sim/organisation/found.hpp"
#include "tests/sim/random/draw.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

void draw_l2(Draw& draw, Json& model) {
  const std::uint32_t line = draw.one_of({32U, 64U, 128U, 256U});
  Json l2 = {{"size", draw.one_of({"512 KiB", "1 MiB", "4 MiB"})},
             {"line", line},
             {"sector", draw.chance(0.5) ? line : std::max(32U, line / draw.one_of({2U, 4U}))},
             {"ways", 16},
             {"scope", "gpu"},
             {"index", draw.one_of({"modulo", "hash"})},
             {"replacement", draw.one_of({"lru", "lru", "tree_plru", "random"})}};
  const bool has_sides = draw.chance(0.4);
  if (has_sides) {
    model["groups"] = {{"partition", 2}};
    l2["partitions"] = {{"count", 2}, {"mode", draw.one_of({"home", "near_copy"})}};
  }
  if (draw.chance(0.5)) l2["prefetch_lines"] = draw.whole(1, 16);
  if (l2.contains("prefetch_lines") && !has_sides && draw.chance(0.5)) l2["prefetch_after"] = draw.whole(2, 3);
  model["caches"] = {{"l2", l2}};
}

void draw_path(Draw& draw, Json& model) {
  const double hit = draw.cycles(150, 300), memory = hit * draw.between(1.5, 2.5);
  Json l2 = {{"level", "l2"}, {"latency", hit}}, behind = {{"level", "device_memory"}, {"latency", memory}};
  if (model.contains("groups")) l2["far_latency"] = hit * 1.2;
  if (model.contains("groups") && draw.chance(0.5)) behind["far_latency"] = memory * draw.between(1.1, 1.4);
  if (draw.chance(0.5)) {
    model["tlbs"] = {{"tlb", {{"page", "2 MiB"}, {"entries", 16}, {"miss_penalty", draw.cycles(10, 200)}}}};
    l2["tlbs"] = {"tlb"};
  }
  model["paths"] = {{"global_cached", {l2, behind}}};
  if (draw.chance(0.5)) model["distance"] = {{"slices", draw.cycles(2, 30)}};
  if (draw.chance(0.4))
    model["rows"] = {{"size", draw.one_of({"1 KiB", "2 KiB", "8 KiB"})},
                     {"banks", draw.whole(16, 512)},
                     {"gain", draw.cycles(10, 0.2 * memory)}};
}

Json random_memory(std::uint64_t seed) {
  Draw draw(seed ^ 0x6d656d6f7279ULL);
  Json model = {{"schema", "gputopo-model/1"},
                {"name", fmt::format("memory-{}", seed)},
                {"gpu", {{"name", "Random"}, {"sm_count", 4}, {"memory", "8 GiB"}, {"clock_khz", 1500000}}}};
  draw_l2(draw, model);
  draw_path(draw, model);
  model["noise"] = {{"jitter", draw.one_of({"none", "gaussian", "uniform"})},
                    {"cycles", draw.whole(1, 6)},
                    {"outlier_probability", draw.chance(0.3) ? draw.between(0, 0.05) : draw.between(0, 0.001)},
                    {"outlier_cycles", {50, 600}},
                    {"seed", seed}};
  return model;
}

// A gain to 10 % and two cycles, of which the noise of the lower quartile of four looks is a part; none where the
// interval reaches over what there is.
bool is_gain_right(const Estimate& said, double truth) {
  if (said.status == Status::inconclusive) return true;
  if (said.status == Status::lower_bound) return *said.value <= truth;
  if (said.status == Status::upper_bound) return *said.value >= truth;
  if (said.status != Status::measured) return false;
  if (*said.value == 0) return said.interval->high >= 0.9 * truth - 2;
  return std::fabs(*said.value - truth) <= 0.1 * truth + 2;
}

class RandomMemory : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomMemory, IsToldRightOrLeftOpen) {
  const Json text = random_memory(GetParam());
  const auto model = sim::parse_model(text.dump(), "random");
  ASSERT_TRUE(model) << model.error().message;
  Topology truth = sim::truth(*model);
  sim::add_memory_patterns(*model, truth);
  const Memory& is = *truth.find("device_memory");
  const Topology topology = discovered_deep(*model, {"device_memory"});
  const Memory& found = *topology.find("device_memory");
  const gputopo::Statement& prefetch = found.structure.at("prefetch");
  EXPECT_TRUE(prefetch.value.empty() || prefetch.value == is.structure.at("prefetch").value)
      << prefetch.value << ": " << prefetch.note << "\n"
      << text.dump();
  const Estimate& gain = *found.find("row_gain");
  EXPECT_TRUE(is_gain_right(gain, *is.find("row_gain")->value))
      << gain.value.value_or(-1) << " for " << *is.find("row_gain")->value << ": " << gain.note << "\n"
      << text.dump();
  // Rows that stay open from load to load make lines faster, whichever load opened them.
  const double rows = *is.find("row_gain")->value;
  // A line's lower quartile lies below its mean by less than the noise's standard deviation.
  const double noise = text["noise"]["cycles"].get<double>() + 2;
  for (const char* name : {"latency_low", "latency_middle", "latency_high"}) {
    // Of two sides half of the lines are near: the middle one may be of either.
    if (text.contains("groups") && std::string_view(name) == "latency_middle") continue;
    // An L2 that fetches ahead may lose what is looked at again.
    if (text["caches"]["l2"].contains("prefetch_lines") && !found.find(name)->value) continue;
    const double true_cycles = *is.find(name)->value;
    EXPECT_NEAR(*found.find(name)->value, true_cycles, noise + rows + 0.03 * true_cycles) << name << "\n"
                                                                                          << text.dump();
  }
  if (is.structure.contains("latency_by_line")) {
    EXPECT_EQ(found.structure.at("latency_by_line").value, "alike") << text.dump();
  }
}

Topology found_with_rows(const Json& l2, double l2_cycles, double memory_cycles, const Json& rows) {
  const Json text = {
      {"schema", "gputopo-model/1"},
      {"name", "rows"},
      {"gpu", {{"name", "Rows"}, {"sm_count", 4}, {"memory", "2 GiB"}, {"clock_khz", 1500000}}},
      {"caches", {{"l2", l2}}},
      {"paths",
       {{"global_cached",
         {{{"level", "l2"}, {"latency", l2_cycles}}, {{"level", "device_memory"}, {"latency", memory_cycles}}}}}},
      {"rows", rows}};
  const auto model = sim::parse_model(text.dump(), "rows");
  EXPECT_TRUE(model) << model.error().message;
  return discovered_plainly(*model);
}

// Neighbours in an open row are nearer than memory is to anything else.
TEST(MemoryLatency, IsNoneOfAnOpenRow) {
  const Topology found = found_with_rows({{"size", "512 KiB"}, {"line", 64}, {"ways", 16}, {"scope", "gpu"}}, 200, 404,
                                         {{"size", "4 KiB"}, {"banks", 8}, {"gain", 60}});
  EXPECT_NEAR(*found.find("device_memory")->find("latency")->value, 404, 4);
  EXPECT_NEAR(*found.find("l2")->find("miss_penalty")->value, 204, 4);
}

// Of an L2 of one way lines that bring translations push one another out, and open the row that is looked at.
TEST(MemoryLatency, IsNoneOfAnOpenRowBehindAnL2OfOneWay) {
  const Topology found = found_with_rows({{"size", "128 KiB"}, {"line", 128}, {"ways", 1}, {"scope", "gpu"}}, 395, 810,
                                         {{"size", "8 KiB"}, {"banks", 16}, {"gain", 110}});
  const Estimate& latency = *found.find("device_memory")->find("latency");
  EXPECT_TRUE(latency.status != Status::measured || std::fabs(*latency.value - 810) < 4) << latency.value.value_or(0);
}

// What comes behind a few times the L2, and behind twice as much, may both lie in a cache of many times its size.
TEST(MemoryLatency, IsNoneOfACacheOfManyTimesTheL2sSize) {
  for (const auto& [memory, behind] : {std::pair{"4 GiB", "128 MiB"}, std::pair{"512 MiB", "48 MiB"}}) {
    const Json text = {{"schema", "gputopo-model/1"},
                       {"name", "large"},
                       {"gpu", {{"name", "Large"}, {"sm_count", 4}, {"memory", memory}, {"clock_khz", 1500000}}},
                       {"caches",
                        {{"l2", {{"size", "512 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}},
                         {"l3", {{"size", behind}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
                       {"paths",
                        {{"global_cached",
                          {{{"level", "l2"}, {"latency", 220}},
                           {{"level", "l3"}, {"latency", 380}},
                           {{"level", "device_memory"}, {"latency", 640}}}}}}};
    const auto model = sim::parse_model(text.dump(), "large");
    ASSERT_TRUE(model) << model.error().message;
    const Topology topology = discovered_plainly(*model);
    const Estimate& latency = *topology.find("device_memory")->find("latency");
    ASSERT_TRUE(latency.value) << latency.note;
    EXPECT_NEAR(*latency.value, 640, 4) << memory;
  }
}

// First in, first out, and as many lines as one flush loads: the same flush once more finds them all and pushes out
// none.
TEST(MemoryLatency, IsNoneOfACacheThatHasWhatIsLoadedBetween) {
  const Json text = {{"schema", "gputopo-model/1"},
                     {"name", "refilled"},
                     {"gpu", {{"name", "Refilled"}, {"sm_count", 2}, {"memory", "2 GiB"}, {"clock_khz", 2000000}}},
                     {"caches",
                      {{"l2", {{"size", "1536 KiB"}, {"line", 32}, {"ways", 24}, {"scope", "gpu"}}},
                       {"l3",
                        {{"size", "8 MiB"},
                         {"line", 32},
                         {"ways", 8},
                         {"index", "hash"},
                         {"replacement", "fifo"},
                         {"scope", "gpu"}}}}},
                     {"paths",
                      {{"global_cached",
                        {{{"level", "l2"}, {"latency", 253}},
                         {{"level", "l3"}, {"latency", 504}},
                         {{"level", "device_memory"}, {"latency", 587}}}}}}};
  const auto model = sim::parse_model(text.dump(), "refilled");
  ASSERT_TRUE(model) << model.error().message;
  experiments::DiscoverOptions options;
  options.only = {"device_memory"};
  const auto topology = experiments::discover(*sim::make_device(*model), options);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_NEAR(topology->find("device_memory")->find("latency")->value.value_or(0), 587, 4);
}

// Sets that an uneven index gives few lines of a flush keep what was there: no more than a few lines in a hundred,
// which made memory and the L2's penalty 12 cycles faster than they are.
TEST(MemoryLatency, IsNoneOfWhatTheL2Kept) {
  const Json text = {
      {"schema", "gputopo-model/1"},
      {"name", "uneven"},
      {"gpu", {{"name", "Uneven"}, {"sm_count", 4}, {"memory", "2 GiB"}, {"clock_khz", 1944000}}},
      {"caches",
       {{"l2",
         {{"size", 923328},
          {"line", 32},
          {"sets", 1603},
          {"ways", 18},
          {"scope", "gpu"},
          {"index", "xor"},
          {"replacement", "not_most_recent"}}}}},
      {"paths",
       {{"global_cached", {{{"level", "l2"}, {"latency", 356}}, {{"level", "device_memory"}, {"latency", 704.5}}}}}},
      {"noise", {{"jitter", "gaussian"}, {"cycles", 2}, {"seed", 5}}}};
  const auto model = sim::parse_model(text.dump(), "uneven");
  ASSERT_TRUE(model) << model.error().message;
  const Topology topology = discovered_plainly(*model);
  const Estimate& memory = *topology.find("device_memory")->find("latency");
  ASSERT_EQ(memory.status, Status::measured) << memory.note;
  EXPECT_NEAR(*memory.value, 704.5, 1.5);
  const Estimate& penalty = *topology.find("l2")->find("miss_penalty");
  ASSERT_EQ(penalty.status, Status::measured) << penalty.note;
  EXPECT_NEAR(*penalty.value, 348.5, 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMemory, testing::Range<std::uint64_t>(1, 17));

}  // namespace
}  // namespace gputopo::test
