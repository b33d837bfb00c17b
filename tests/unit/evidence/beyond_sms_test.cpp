#include "evidence/inference/beyond_sms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {
namespace {

using ::testing::DoubleEq;
using ::testing::HasSubstr;

// An L1 of 40 cycles before an L2 of 200, at an SM clock of 1 GHz.
Topology timed_topology() {
  Topology t;
  t.gpu.clock_khz = 1'000'000;
  const auto add = [&](const char* id, double latency, double penalty) {
    Memory& m = t.memories.emplace_back();
    m.id = id;
    for (const auto& [name, value] : {std::pair("latency", latency), std::pair("miss_penalty", penalty)}) {
      m.attributes[name] = measured(value, "cycles", "timed", 9);
      m.attributes[name].interval = Interval{value - 1, value + 1};
    }
    m.attributes["size"] = measured(4096, "B", "misses", 9);
  };
  add("l1", 40, 160);
  add("l2", 200, 300);
  return t;
}

const Estimate& quantity_of(const Topology& t, const char* id, const char* quantity) {
  return *t.find(id)->find(quantity);
}

TEST(StateClock, LeavesAllAsItIsAtTheDriversClockOrAStepBesideIt) {
  for (const SmClock clock : {SmClock{}, SmClock{1'000'000, 1'000'000}, SmClock{1'014'000, 986'000}}) {
    Topology t = timed_topology();
    state_clock(t, clock);
    EXPECT_EQ(t, timed_topology()) << clock.usual_khz;
  }
}

TEST(StateClock, ReachesToWhatTheDriversClockMakesOfIt) {
  Topology t = timed_topology();
  bound_above(t.find("l2")->attributes["miss_penalty"], "rows");
  state_clock(t, {800'000, 500'000});
  EXPECT_EQ(t.gpu.measured_clock_khz, 800'000U);
  EXPECT_EQ(quantity_of(t, "l2", "latency").value, 200.0) << "as timed";
  EXPECT_EQ(quantity_of(t, "l2", "latency").interval, (Interval{199, 402}));
  EXPECT_THAT(quantity_of(t, "l2", "latency").note, HasSubstr("50 %"));
  // What an L1's miss takes in all is twice 201, of which its hit still takes 40.
  EXPECT_EQ(quantity_of(t, "l1", "miss_penalty").interval, (Interval{159, 362}));
  EXPECT_THAT(*quantity_of(t, "l2", "miss_penalty").value, DoubleEq(604));
  EXPECT_THAT(quantity_of(t, "l2", "miss_penalty").note, HasSubstr("rows; "));
  EXPECT_EQ(quantity_of(t, "l1", "latency"), quantity_of(timed_topology(), "l1", "latency")) << "the SM's own cycles";
  EXPECT_EQ(quantity_of(t, "l2", "size"), quantity_of(timed_topology(), "l2", "size"));
}

TEST(StateClock, OfAFasterOneThanTheDriversIsTheClockThatCyclesAreOf) {
  Topology t = timed_topology();
  state_clock(t, {1'250'000, 1'200'000});
  EXPECT_EQ(t.gpu.measured_clock_khz, 1'250'000U);
  EXPECT_THAT(*cycles_to_ns(200, t.gpu), DoubleEq(160));
  EXPECT_EQ(t.memories, timed_topology().memories);
}

TEST(OpenWhatClocksChange, LeavesTheSmsOwnCycles) {
  Topology t = timed_topology();
  open_what_clocks_change(t);
  EXPECT_EQ(quantity_of(t, "l1", "latency").status, Status::measured);
  EXPECT_EQ(quantity_of(t, "l1", "miss_penalty").status, Status::inconclusive);
  EXPECT_EQ(quantity_of(t, "l2", "latency").status, Status::inconclusive);
  EXPECT_EQ(quantity_of(t, "l2", "size").status, Status::measured);
}

TEST(BoundWhatCopiesTake, BoundsBandwidthsBeyondTheSmsAndOpensWhatMemoryTakes) {
  Topology t = timed_topology();
  t.memories.emplace_back().id = "device_memory";
  t.memories.back().attributes["latency"] = measured(500, "cycles", "timed", 9);
  for (const char* id : {"l1", "l2"}) t.find(id)->attributes["read_bandwidth"] = measured(1e12, "B/s", "kernel", 9);
  bound_what_copies_take(t);
  EXPECT_EQ(quantity_of(t, "l1", "read_bandwidth").status, Status::measured);
  EXPECT_EQ(quantity_of(t, "l2", "read_bandwidth").status, Status::lower_bound);
  EXPECT_EQ(quantity_of(t, "l2", "latency").status, Status::measured);
  EXPECT_EQ(quantity_of(t, "l1", "miss_penalty").status, Status::measured);
  EXPECT_EQ(quantity_of(t, "l2", "miss_penalty").status, Status::inconclusive);
  EXPECT_EQ(quantity_of(t, "device_memory", "latency").status, Status::inconclusive);
  EXPECT_EQ(t.provenance.notes.size(), 1U);
}

TEST(BoundWhatOthersTake, OpensCyclesBeyondTheSmsAndBoundsTheRest) {
  Topology t = timed_topology();
  bound_what_others_take(t);
  EXPECT_EQ(quantity_of(t, "l1", "latency").status, Status::upper_bound);
  EXPECT_EQ(quantity_of(t, "l1", "size").status, Status::lower_bound);
  EXPECT_EQ(quantity_of(t, "l1", "miss_penalty").status, Status::inconclusive);
  EXPECT_EQ(quantity_of(t, "l2", "latency").status, Status::inconclusive);
  EXPECT_EQ(t.provenance.notes.size(), 1U);
}

}  // namespace
}  // namespace gputopo::evidence
