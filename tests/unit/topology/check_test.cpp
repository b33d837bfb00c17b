#include "topology/check.hpp"

#include <functional>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo {
namespace {

using testing::HasSubstr;

Memory cache(std::string id, std::string parent) {
  Memory m;
  m.id = std::move(id);
  m.parent = std::move(parent);
  Estimate& size = m.attributes["size"];
  size.value = 1024;
  size.unit = "B";
  size.status = Status::measured;
  return m;
}

Topology sound() {
  Topology t;
  t.gpu.name = "NVIDIA Test";
  t.gpu.sm_count = 4;
  t.memories = {cache("device_memory", ""), cache("l2", "device_memory"), cache("l1", "l2")};
  return t;
}

std::string objection_to(const std::function<void(Topology&)>& spoil) {
  Topology t = sound();
  spoil(t);
  const auto checked = check(t);
  return checked ? "" : checked.error().message;
}

TEST(Check, AcceptsASoundTopology) {
  EXPECT_TRUE(check(sound()));
}

TEST(Check, AcceptsAParentThatWasNotMeasured) {
  EXPECT_EQ(objection_to([](Topology& t) { t.memories.erase(t.memories.begin()); }), "");
}

TEST(Check, AcceptsAnIntervalThatReachesBelowZero) {
  EXPECT_EQ(objection_to([](Topology& t) { t.memories[1].attributes["size"].interval = Interval{-1, 1024}; }), "");
}

TEST(Check, RefusesACycleOfParents) {
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[0].parent = "l1"; }), HasSubstr("its own ancestor"));
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[1].parent = "l2"; }), HasSubstr("its own ancestor"));
}

TEST(Check, RefusesTwoMemoriesOfOneId) {
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[2].id = "l2"; }), HasSubstr("two memories are called l2"));
}

TEST(Check, RefusesTextThatIsNotPrintableAscii) {
  const std::string bad[] = {"H\xc3\xa4user", "two\nlines", "escape \x1b[31m", std::string("nul\0", 4),
                             std::string(257, 'a')};
  for (const std::string& text : bad) {
    EXPECT_THAT(objection_to([&](Topology& t) { t.gpu.name = text; }), HasSubstr("not printable ASCII"));
    EXPECT_THAT(objection_to([&](Topology& t) { t.memories[1].id = text; }), HasSubstr("not printable ASCII"));
    EXPECT_THAT(objection_to([&](Topology& t) { t.memories[1].label = text; }), HasSubstr("l2's label"));
    EXPECT_THAT(objection_to([&](Topology& t) { t.memories[1].parent = text; }), HasSubstr("l2's parent"));
    EXPECT_THAT(objection_to([&](Topology& t) { t.memories[1].attributes["size"].method = text; }),
                HasSubstr("size's method"));
    EXPECT_THAT(objection_to([&](Topology& t) { t.memories[1].attributes[text]; }), HasSubstr("attribute's name"));
  }
  EXPECT_NE(objection_to([](Topology& t) { t.memories[1].id.clear(); }), "");
}

TEST(Check, RefusesNumbersThatCannotBe) {
  for (const double value : {-1.0, 1e300, 1.2e18})
    EXPECT_THAT(objection_to([&](Topology& t) { t.memories[1].attributes["size"].value = value; }),
                HasSubstr("outside"));
  EXPECT_NE(objection_to([](Topology& t) { t.memories[1].attributes["size"].interval = Interval{0, 1e30}; }), "");
  EXPECT_NE(objection_to([](Topology& t) { t.memories[1].instances_per_scope = 0; }), "");
  EXPECT_NE(objection_to([](Topology& t) { t.memories[1].instances_per_scope = 0xffffffff; }), "");
  EXPECT_THAT(objection_to([](Topology& t) { t.gpu.sm_count = 0xffffffff; }),
              HasSubstr("4294967295 SMs, over the limit of 1048576"));
}

TEST(Check, RefusesAnIntervalThatDoesNotContainItsValue) {
  for (const Interval interval : {Interval{1, 1023}, Interval{1025, 2000}})
    EXPECT_THAT(objection_to([&](Topology& t) { t.memories[1].attributes["size"].interval = interval; }),
                HasSubstr("memory l2: size is 1024, which its interval"));
  EXPECT_EQ(objection_to([](Topology& t) { t.memories[1].attributes["size"].interval = Interval{1024, 1024}; }), "");
  EXPECT_EQ(objection_to([](Topology& t) {
              Estimate& size = t.memories[1].attributes["size"];
              size.interval = Interval{1, 2};
              size.value.reset();
            }),
            "")
      << "an inconclusive estimate may say where its value lies";
}

TEST(Check, RefusesAnIntervalOfAnUnknownKind) {
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[1].attributes["size"].interval_kind = "80 %"; }),
              HasSubstr("unknown kind"));
}

TEST(Check, AcceptsStructureThatWasNotMeasured) {
  EXPECT_EQ(objection_to([](Topology& t) {
              t.memories[1].scope.reset();
              t.memories[1].instances_per_scope.reset();
              t.memories[1].physical_cache.clear();
              t.memories[1].structure["scope"].note = "no SM lost a line to another one, nor kept all";
            }),
            "");
}

TEST(Check, RefusesAStatementThatTellsSomethingElseThanItsMember) {
  const auto state = [](Topology& t, const char* about, const char* value) {
    t.memories[1].scope = Scope::gpu;
    t.memories[1].instances_per_scope = 2;
    t.memories[1].physical_cache = "l2";
    Statement& s = t.memories[1].structure[about];
    s.value = value;
    s.status = Status::measured;
  };
  for (const auto& [about, right, wrong] : {std::tuple{"scope", "gpu", "sm"}, std::tuple{"physical_cache", "l2", "l1"},
                                            std::tuple{"instances_per_scope", "2", "1"}}) {
    EXPECT_EQ(objection_to([&, name = about, value = right](Topology& t) { state(t, name, value); }), "") << about;
    EXPECT_THAT(objection_to([&, name = about, value = wrong](Topology& t) { state(t, name, value); }),
                HasSubstr(std::string("l2: ") + about + " and the statement of it differ"));
  }
  EXPECT_NE(objection_to([&](Topology& t) {
              state(t, "scope", "gpu");
              t.memories[1].scope.reset();
            }),
            "")
      << "measured, but the member is missing";
}

TEST(Check, RefusesStatementsThatCannotBeShown) {
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[1].structure["code"].value = "\x1b[31m"; }),
              HasSubstr("not printable ASCII"));
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[1].structure["two\nlines"]; }), HasSubstr("statement's name"));
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[1].structure["code"].confidence = 2; }),
              HasSubstr("confidence"));
  EXPECT_THAT(objection_to([](Topology& t) { t.provenance.shared_gpu = "two\nlines"; }),
              HasSubstr("not printable ASCII"));
  EXPECT_THAT(objection_to([](Topology& t) { t.memories[1].created = "two\nlines"; }), HasSubstr("memory l2's date"));
  EXPECT_THAT(objection_to([](Topology& t) {
                t.earlier_runs.resize(1);
                t.earlier_runs[0].created = "\n";
              }),
              HasSubstr("an earlier run"));
  EXPECT_THAT(objection_to([](Topology& t) { t.earlier_runs.resize(1000); }), HasSubstr("1000 earlier runs"));
}

TEST(Check, RefusesMoreMemoriesThanAnyGpuHas) {
  EXPECT_NE(objection_to([](Topology& t) {
              for (int i = 0; i < 300; ++i) t.memories.push_back(cache("cache" + std::to_string(i), ""));
            }),
            "");
}

}  // namespace
}  // namespace gputopo
