// Slices that timing tells apart, against what each counts for itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "counted_gpu.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/crosscheck/crosscheck.hpp"

namespace gputopo::experiments {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t slices = 24;

sim::Model model_of_slices(const Json& distance) {
  Json text = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Sliced"}, {"sm_count", 24}, {"memory", "2 GiB"}, {"clock_khz", 1500000}}},
      {"caches", {{"l2", {{"size", "2 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths",
       {{"global_cached", {{{"level", "l2"}, {"latency", 280}}, {{"level", "device_memory"}, {"latency", 640}}}}}},
      {"noise", {{"jitter", "uniform"}, {"cycles", 3}}}};
  if (!distance.is_null()) text["distance"] = distance;
  auto model = sim::parse_model(text.dump(), "sliced");
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

const Json apart = {{"slice", 256}, {"count", slices}, {"sm", 12}, {"slices", 15}};

struct Checked {
  CrossCheckReport report;
  Topology topology;
};

// Of a topology that states as many slices as there are.
Checked checked(const Json& distance, Faults faults = {}) {
  const sim::Model model = model_of_slices(distance);
  CountedGpu gpu(model, faults);
  Checked c{{}, sim::truth(model)};
  Estimate& stated = c.topology.find("l2")->attributes["slices"];
  stated = evidence::measured(slices, "", "latency_fingerprints", 1);
  stated.status = Status::lower_bound;
  DiscoverOptions options;
  options.only = {"l2"};
  auto report = cross_check(gpu, gpu, c.topology, options);
  EXPECT_TRUE(report) << report.error().message;
  if (report) c.report = *report;
  apply(c.report, c.topology);
  return c;
}

std::vector<CrossCheck> entries_that_begin(const CrossCheckReport& report, std::string_view kind) {
  std::vector<CrossCheck> some;
  for (const CrossCheck& entry : report.entries)
    if (entry.metric.starts_with(kind)) some.push_back(entry);
  return some;
}

TEST(CheckedSlices, NoneServesMoreThanOneLineOfEachPlace) {
  const Checked c = checked(apart);
  const auto walks = entries_that_begin(c.report, check_of_slices);
  ASSERT_GE(walks.size(), 2U) << ::testing::PrintToString(c.report.notes);
  for (const CrossCheck& walk : walks) {
    EXPECT_EQ(walk.verdict, verdict_equal) << walk.by_timing << ' ' << walk.by_counter;
    EXPECT_EQ(static_cast<double>(walk.loads), walk.by_timing * slices);
  }
  const auto count = entries_that_begin(c.report, check_of_slice_count);
  ASSERT_EQ(count.size(), 1U);
  EXPECT_EQ(count.front().by_timing, slices);
  EXPECT_EQ(count.front().by_counter, slices);
  const Estimate& stated = *c.topology.find("l2")->find("slices");
  EXPECT_EQ(stated.value, slices);
  EXPECT_THAT(stated.note, ::testing::EndsWith(confirmed_by_counters));
}

// Timing must have taken one slice for two, if lines of two places meet in one.
TEST(CheckedSlices, ArentConfirmedWhereLinesOfTwoPlacesMeetInOne) {
  const Checked c = checked(apart, {.merges_slices = 2});
  const auto walks = entries_that_begin(c.report, check_of_slices);
  ASSERT_GE(walks.size(), 2U);
  for (const CrossCheck& walk : walks) EXPECT_EQ(walk.verdict, verdict_differs);
  EXPECT_EQ(entries_that_begin(c.report, check_of_slice_count).front().verdict, verdict_differs);
  const Estimate& stated = *c.topology.find("l2")->find("slices");
  EXPECT_EQ(stated.status, Status::inconclusive);
  EXPECT_THAT(stated.note, ::testing::HasSubstr("timing said 24, but"));
  EXPECT_EQ(*c.topology.find("l2")->find("size"), *checked(apart).topology.find("l2")->find("size"))
      << "slices say nothing about its size";
}

TEST(CheckedSlices, ArentWalkedWhereTimingDoesntTellThemApart) {
  const Checked c = checked(Json());
  EXPECT_TRUE(entries_that_begin(c.report, check_of_slices).empty());
  EXPECT_THAT(c.report.notes, ::testing::Contains(::testing::HasSubstr("l2: its slices weren't checked")));
}

}  // namespace
}  // namespace gputopo::experiments
