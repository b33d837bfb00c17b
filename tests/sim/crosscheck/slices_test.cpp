// Slices that timing tells apart, against what each counts for itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_gpu.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/crosscheck/crosscheck.hpp"

namespace gputopo::experiments {
namespace {

constexpr std::uint32_t slices_of_an_h200 = 94;

struct Checked {
  CrossCheckReport report;
  Topology topology;
};

// Of a topology that states as many slices as there are.
Checked checked(const sim::Model& model, Faults faults = {}) {
  CountedGpu gpu(model, faults);
  Checked c{{}, sim::truth(model)};
  c.topology.find("l2")->attributes["slices"] = evidence::measured(slices_of_an_h200, "", "atomic_contention", 1);
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

TEST(CheckedSlices, AreAsManyAsCountersSeeAndLinesOfEachMeetInNone) {
  const Checked c = checked(quiet_model());
  for (const std::string_view kind : {check_of_slices, check_of_slice_count}) {
    const auto entries = entries_that_begin(c.report, kind);
    ASSERT_EQ(entries.size(), 1U) << kind << ::testing::PrintToString(c.report.notes);
    EXPECT_EQ(entries.front().verdict, verdict_equal) << kind;
    EXPECT_EQ(entries.front().by_timing, slices_of_an_h200) << kind;
    EXPECT_DOUBLE_EQ(entries.front().by_counter, slices_of_an_h200) << kind;
  }
  const Estimate& stated = *c.topology.find("l2")->find("slices");
  EXPECT_EQ(stated.value, slices_of_an_h200);
  EXPECT_TRUE(is_confirmed_by_counters(stated)) << stated.note;
}

// Timing must have taken one slice for two, if lines of two of them meet in one.
TEST(CheckedSlices, ArentConfirmedWhereLinesOfTwoMeetInOne) {
  const Checked c = checked(quiet_model(), {.merges_slices = 2});
  EXPECT_EQ(entries_that_begin(c.report, check_of_slices).front().verdict, verdict_differs);
  EXPECT_EQ(entries_that_begin(c.report, check_of_slice_count).front().verdict, verdict_differs);
  const Estimate& stated = *c.topology.find("l2")->find("slices");
  EXPECT_EQ(stated.status, Status::inconclusive);
  EXPECT_THAT(stated.note, ::testing::HasSubstr("timing said 94, but 2 of 2 checks"));
  EXPECT_EQ(*c.topology.find("l2")->find("size"), *checked(quiet_model()).topology.find("l2")->find("size"))
      << "slices say nothing about its size";
}

TEST(CheckedSlices, ArentAskedForWhereTimingDoesntTellThemApart) {
  sim::Model model = quiet_model();
  model.throughput->slices = 0;
  const Checked c = checked(model);
  EXPECT_TRUE(entries_that_begin(c.report, check_of_slices).empty());
  EXPECT_THAT(c.report.notes, ::testing::Contains(::testing::HasSubstr("l2: its slices weren't checked")));
}

}  // namespace
}  // namespace gputopo::experiments
