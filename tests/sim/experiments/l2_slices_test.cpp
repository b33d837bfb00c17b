// An L2's slices on models that say how many there are.
#include "throughput/l2_slices.hpp"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/sim_device.hpp"
#include "device/sim/work_cost.hpp"
#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

Json sliced_model(std::uint32_t slices, const Json& additions = {{"spread", 300}, {"line", 8}}) {
  return {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Sliced"}, {"sm_count", 24}, {"memory", "2 GiB"}, {"clock_khz", 1500000}}},
      {"caches", {{"l2", {{"size", "2 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths",
       {{"global_cached", {{{"level", "l2"}, {"latency", 280}}, {{"level", "device_memory"}, {"latency", 640}}}}}},
      {"throughput",
       {{"levels", Json::object()}, {"atomics", {{"global", additions}}}, {"slices", slices}, {"noise", 0.03}}}};
}

sim::Model sliced(const Json& text) {
  auto model = sim::parse_model(text.dump(), "sliced");
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

throughput::Slices slices_of(const sim::Model& model, std::uint64_t mapped_lines) {
  const auto device = sim::make_device(model);
  throughput::Meter meter(*device, nullptr);
  const auto found = throughput::find_slices(meter, 1, mapped_lines);
  EXPECT_TRUE(found) << found.error().message;
  return found.value_or(throughput::Slices{});
}

TEST(L2Slices, AreAsManyAsAddToTheirLinesAtTheSameTime) {
  for (const std::uint32_t slices : {2U, 7U, 48U})
    EXPECT_EQ(slices_of(sliced(sliced_model(slices)), 0).line_of.size(), slices);
  for (const std::uint32_t slices : {94U}) {
    const Topology found = discovered_deep(sliced(sliced_model(slices)), {"l2"});
    const Estimate& e = *found.find("l2")->find("slices");
    ASSERT_EQ(e.status, Status::measured) << e.note;
    EXPECT_EQ(*e.value, slices) << e.note;
    EXPECT_GE(e.confidence.value_or(0), 0.999);
  }
}

// SMs that keep twelve, three and hardly two of them busy at once.
TEST(L2Slices, AreFoundByFewAtATimeWhereSmsAreSlow) {
  for (const double spread : {96.0, 24.0, 14.0}) {
    const auto found = slices_of(sliced(sliced_model(40, {{"spread", spread}, {"line", 8}})), 0);
    EXPECT_EQ(found.why_open, "") << spread;
    EXPECT_EQ(found.line_of.size(), 40U) << spread;
    EXPECT_LT(found.chance_of_more, 1e-3);
  }
}

TEST(L2Slices, AreOpenWhereSmsKeepNoMoreThanOneBusyOrThereIsOne) {
  for (const Json& text : {sliced_model(40, {{"spread", 8}, {"line", 8}}), sliced_model(1)})
    EXPECT_NE(slices_of(sliced(text), 0).why_open, "");
  const Topology found = discovered_deep(sliced(sliced_model(1)), {"l2"});
  EXPECT_EQ(found.find("l2")->find("slices")->status, Status::inconclusive);
}

TEST(L2Slices, OfLinesAreTheModels) {
  const sim::Model model = sliced(sliced_model(48));
  const auto found = slices_of(model, 128);
  ASSERT_EQ(found.of_line.size(), 128U);
  std::set<std::uint64_t> seen;
  for (const std::uint32_t line : found.line_of) seen.insert(sim::slice_of_line(*model.throughput, line));
  EXPECT_EQ(seen.size(), 48U);
  for (std::uint32_t line = 0; line < 128; ++line) {
    ASSERT_LT(found.of_line[line], 48U) << line;
    EXPECT_EQ(sim::slice_of_line(*model.throughput, line),
              sim::slice_of_line(*model.throughput, found.line_of[found.of_line[line]]))
        << line;
  }
}

}  // namespace
}  // namespace gputopo::test
