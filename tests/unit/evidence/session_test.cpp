#include "evidence/looks/session.hpp"

#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// Interrupts a program as often as its label says, then lets it through.
class BusyDevice : public device::Device {
 public:
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    ++calls;
    std::vector<program::ProgramTrace> traces;
    for (const program::Program& p : batch) {
      traces.emplace_back();
      const auto number = static_cast<std::uint32_t>(traces.size());
      traces.back().agent_sms = {side_by_side ? number : static_cast<std::uint32_t>(calls)};
      std::uint32_t& left = left_.try_emplace(p.label, std::stoul(p.label)).first->second;
      if (left == 0) continue;
      --left;
      traces.back().interruptions = {1, 2'000'000, 0};
    }
    return traces;
  }
  void begin_anew() {
    calls = 0;
    left_.clear();
    side_by_side = false;
  }
  int calls = 0;
  bool side_by_side = false;  // each program of a batch on an SM of its own

 private:
  device::DeviceInfo info_;
  std::map<std::string, std::uint32_t> left_;
};

program::Batch labelled(std::initializer_list<const char*> labels) {
  program::Batch batch;
  for (const char* label : labels) {
    batch.emplace_back();
    batch.back().label = label;
  }
  return batch;
}

TEST(Session, RepeatsWhatWasInterruptedAlone) {
  BusyDevice device;
  Session session(device, {});
  auto traces = session.run(labelled({"0", "2"}));
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ((*traces)[0].agent_sms[0], 1U);
  EXPECT_EQ((*traces)[1].agent_sms[0], 3U);
  EXPECT_EQ(session.disturbance().programs, 2U);
  EXPECT_EQ(session.disturbance().repeated, 2U);
  EXPECT_EQ(session.disturbance().switches, 2U);
  EXPECT_EQ(session.disturbance().away_ns, 4'000'000U);
}

TEST(Session, GivesUpWhatNeverGetsThrough) {
  BusyDevice device;
  Session session(device, {});
  auto traces = session.run(labelled({"1000"}));
  ASSERT_FALSE(traces.has_value());
  EXPECT_EQ(traces.error().kind, Error::Kind::unavailable);
  EXPECT_LT(device.calls, 50);
  EXPECT_EQ(session.disturbance().given_up, 1U);
}

// Of which every round lets one more through.
program::Batch hardly_ever_through(int count) {
  program::Batch batch(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) batch[static_cast<std::size_t>(i)].label = std::to_string(i);
  return batch;
}

TEST(Session, GivesUpABatchThatTakesTooLong) {
  BusyDevice device;
  Session session(device, {});
  for (int i = 0; i < 5; ++i) {
    device.begin_anew();
    const auto traces = session.run(hardly_ever_through(1000));
    ASSERT_FALSE(traces.has_value());
    EXPECT_EQ(traces.error().kind, Error::Kind::unavailable);
    EXPECT_LT(device.calls, 5);
  }
  device.begin_anew();
  EXPECT_TRUE(session.run(labelled({"10"}))) << "what others took leaves a single program its part";
}

TEST(Session, LosesATurnOnceToProgramsThatRunSideBySide) {
  BusyDevice device;
  Session session(device, {});
  device.side_by_side = true;
  EXPECT_TRUE(session.run(hardly_ever_through(50)));
  device.begin_anew();
  EXPECT_FALSE(session.run(hardly_ever_through(50)));
  device.begin_anew();
  device.side_by_side = true;
  program::Batch alone = hardly_ever_through(50);
  for (program::Program& p : alone) p.isolation = Scope::gpu;
  EXPECT_FALSE(session.run(alone)) << "programs that want the GPU for themselves follow one another";
}

TEST(Session, GivesWhatFitsOfProgramsThatTakeEverLonger) {
  BusyDevice device;
  Session session(device, {});
  auto traces = session.run_while_they_fit(labelled({"0", "2", "1000", "999"}));
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ(traces->size(), 2U);
  EXPECT_EQ((*traces)[1].interruptions.switches, 0U);
  EXPECT_EQ(session.disturbance().given_up, 1U);
  const auto none = session.run_while_they_fit(labelled({"998"}));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, Error::Kind::unavailable);
}

TEST(Session, RepeatsStagesTogetherAndMakesThemAnew) {
  BusyDevice device;
  Session session(device, {});
  int made = 0;
  auto traces = session.run_in_order([&] {
    ++made;
    return std::vector<program::Batch>{labelled({"0"}), labelled({"2"})};
  });
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ(made, 3);
  EXPECT_EQ(device.calls, 6);
}

TEST(Session, StopsWhenAsked) {
  BusyDevice device;
  std::atomic<bool> stop{true};
  Settings settings;
  settings.stop = &stop;
  Session session(device, settings);
  auto traces = session.run(labelled({"0"}));
  ASSERT_FALSE(traces.has_value());
  EXPECT_EQ(traces.error().kind, Error::Kind::interrupted);
  EXPECT_EQ(device.calls, 0);
}

TEST(Session, FreshRegionsDontOverlap) {
  BusyDevice device;
  Session session(device, {});
  const std::uint64_t first = session.fresh_region(slot_global, 100'000);
  EXPECT_GE(session.fresh_region(slot_global, 1), first + 100'000);
  EXPECT_EQ(session.fresh_region(slot_texture, 1), sweep_limit_bytes);
}

// Each batch runs at another clock, of 1000 MHz and then ever slower by a step.
class SlowingDevice : public device::Device {
 public:
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    std::vector<program::ProgramTrace> traces(batch.size());
    for (program::ProgramTrace& trace : traces) trace.interruptions.cycles_per_ns = clock_;
    clock_ -= 0.02;
    return traces;
  }

 private:
  double clock_ = 1;
  device::DeviceInfo info_;
};

TEST(Session, TellsTheClockOfHalfAndOfATenthOfItsPrograms) {
  SlowingDevice device;
  Session session(device, {});
  EXPECT_EQ(session.clock().usual_khz, 0U);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(session.run(labelled({"0", "0"})));
  EXPECT_EQ(session.clock().usual_khz, 960'000U);
  EXPECT_EQ(session.clock().slowest_khz, 920'000U);
  session.watch_clock_anew();
  EXPECT_EQ(session.clock().slowest_khz, 0U);
}

TEST(Session, KeepsACurveWithItsSourceInAsManyDigitsAsAPlotShows) {
  BusyDevice device;
  Session session(device, {});
  ASSERT_TRUE(session.run(labelled({"0"})));
  session.now_measuring("l1.geometry", "l1");
  ASSERT_TRUE(session.run(labelled({"0", "0"})));
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  DecidingCurve curve;
  curve.quantity = "size";
  curve.series = {{"by timing", {{1234567891, 1.0 / 3}, {1e9 / 3, 0}, {2, nothing}}}, {"odd", {{nothing, 1}}}};
  session.keep(curve);
  curve.series = {{"odd", {{nothing, 1}}}};
  session.keep(curve);
  ASSERT_EQ(session.curves().size(), 1U);
  const DecidingCurve& kept = session.curves().front();
  EXPECT_EQ(kept.memory, "l1");
  EXPECT_EQ(kept.source, "l1.geometry");
  EXPECT_EQ(kept.programs, 2U);
  ASSERT_EQ(kept.series.size(), 1U);
  EXPECT_EQ(kept.series.front().points, (std::vector<std::pair<double, double>>{{1234567891, 0.3333}, {333333000, 0}}));
}

TEST(Session, RenamesWhatItKeptInPlaceOfWhatThatHad) {
  BusyDevice device;
  Session session(device, {});
  for (const char* id : {"instruction_l0", "instruction_l1"}) {
    DecidingCurve curve;
    curve.memory = id;
    curve.quantity = "size";
    curve.series = {{id, {{1, 1}}}};
    session.keep(curve);
  }
  session.rename_kept("instruction_l0", "instruction_l1");
  session.rename_kept("instruction_l1", "instruction_l1");
  ASSERT_EQ(session.curves().size(), 1U);
  EXPECT_EQ(session.curves().front().memory, "instruction_l1");
  EXPECT_EQ(session.curves().front().series.front().label, "instruction_l0");
}

}  // namespace
}  // namespace gputopo::evidence
