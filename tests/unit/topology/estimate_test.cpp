#include "topology/estimate.hpp"

#include <gtest/gtest.h>

#include "topology/topology.hpp"

namespace gputopo {
namespace {

TEST(Estimate, StatusNamesComeBack) {
  for (const Status status : {Status::measured, Status::api, Status::lower_bound, Status::upper_bound,
                              Status::not_supported, Status::inconclusive, Status::truth})
    EXPECT_EQ(parse_status(to_string(status)), status);
  EXPECT_FALSE(parse_status("Measured"));
}

TEST(Estimate, BoundsAreNoValues) {
  Estimate e;
  e.value = 1;
  for (const Status status : {Status::measured, Status::api, Status::truth}) {
    e.status = status;
    EXPECT_TRUE(is_usable(e));
  }
  for (const Status status : {Status::lower_bound, Status::upper_bound, Status::not_supported, Status::inconclusive}) {
    e.status = status;
    EXPECT_FALSE(is_usable(e));
  }
  e = {};
  e.status = Status::measured;
  EXPECT_FALSE(is_usable(e)) << "no value at all";
}

TEST(Estimate, AnIntervalIsOf95PercentUnlessItSaysOtherwise) {
  EXPECT_EQ(Estimate{}.interval_kind, "95 %");
  EXPECT_TRUE(is_interval_kind("quartiles"));
  EXPECT_FALSE(is_interval_kind(""));
}

TEST(Statement, OnlyWhatWasFoundMayBeUsed) {
  Statement s{"gpc", Status::measured, "code_eviction", 0.99, 7, {}};
  EXPECT_TRUE(is_usable(s));
  s.status = Status::inconclusive;
  EXPECT_FALSE(is_usable(s));
  s = {"", Status::measured, "code_eviction", 0.99, 7, {}};
  EXPECT_FALSE(is_usable(s));
}

TEST(Topology, NamesOfKindsAndScopesComeBack) {
  for (const Kind kind : {Kind::cache, Kind::scratchpad, Kind::memory}) EXPECT_EQ(parse_kind(to_string(kind)), kind);
  for (const Scope scope : {Scope::sm, Scope::tpc, Scope::cpc, Scope::gpc, Scope::partition, Scope::gpu, Scope::group})
    EXPECT_EQ(parse_scope(to_string(scope)), scope);
  EXPECT_FALSE(parse_scope("SM"));
}

TEST(Topology, CyclesBecomeNanosecondsAtTheClock) {
  Gpu gpu;
  EXPECT_FALSE(cycles_to_ns(38, gpu));
  gpu.clock_khz = 2000000;
  EXPECT_DOUBLE_EQ(*cycles_to_ns(38, gpu), 19.0);
}

TEST(Topology, FindsMemoriesById) {
  Topology t;
  t.memories.resize(2);
  t.memories[1].id = "l2";
  EXPECT_EQ(t.find("l2"), &t.memories[1]);
  EXPECT_EQ(t.find("l3"), nullptr);
  t.memories[1].attributes["size"] = {};
  EXPECT_NE(t.memories[1].find("size"), nullptr);
  EXPECT_EQ(t.memories[1].find("latency"), nullptr);
}

}  // namespace
}  // namespace gputopo
