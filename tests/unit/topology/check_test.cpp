#include "topology/check.hpp"

#include <functional>
#include <string>

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
  EXPECT_EQ(objection_to([](Topology& t) { t.memories[1].attributes["size"].interval = Interval{-1, 5}; }), "");
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
  EXPECT_NE(objection_to([](Topology& t) { t.gpu.sm_count = 0xffffffff; }), "");
}

TEST(Check, RefusesMoreMemoriesThanAnyGpuHas) {
  EXPECT_NE(objection_to([](Topology& t) {
              for (int i = 0; i < 300; ++i) t.memories.push_back(cache("cache" + std::to_string(i), ""));
            }),
            "");
}

}  // namespace
}  // namespace gputopo
