#include "report/structure.hpp"

#include <gtest/gtest.h>

#include "example.hpp"

namespace gputopo::report {
namespace {

class StructureTest : public testing::Test {
 protected:
  // The footnote that a cell refers to; there is one at most.
  std::string note() const { return notes_.notes().empty() ? "" : notes_.notes().back(); }

  Footnotes notes_{MarkStyle::plain};
  Memory l1_ = memory("l1", "L1", Scope::sm, "l1");
};

TEST_F(StructureTest, ScopesCountTheirInstances) {
  EXPECT_EQ(scope_text(l1_), "SM");
  l1_.instances_per_scope = 2;
  EXPECT_EQ(scope_text(l1_), "2/SM");
  EXPECT_EQ(scope_text(memory("l2", "L2", Scope::partition, "l2")), "partition");
}

TEST_F(StructureTest, AGroupWithoutANameSaysHowManySmsItHas) {
  Memory m = memory("constant_l1_5", "Constant L1.5", Scope::group, "constant_l1_5");
  EXPECT_EQ(scope_text(m), "group of SMs");
  m.sm_groups = {{0, 1}, {2, 3}};
  EXPECT_EQ(scope_text(m), "group of 2 SMs");
  m.sm_groups = {{0, 1, 2}, {3, 4}};
  EXPECT_EQ(scope_text(m), "group of 2-3 SMs");
  EXPECT_EQ(scope_text(m, Room::brief), "2-3 SMs");
  m.instances_per_scope = 2;
  EXPECT_EQ(scope_text(m), "2/group of 2-3 SMs");
  m.scope = Scope::gpc;
  EXPECT_EQ(scope_text(m), "2/GPC") << "where something says that it is one";
}

TEST_F(StructureTest, WhatWasNotMeasuredIsNoDefault) {
  l1_.scope.reset();
  EXPECT_EQ(scope_cell(l1_, Room::full, notes_).text, "-");
  EXPECT_EQ(note(), "not measured");
  l1_.structure["scope"].note = "too few loads";
  EXPECT_NE(scope_cell(l1_, Room::full, notes_).mark, "");
  EXPECT_EQ(note(), "inconclusive: the evidence doesn't decide; too few loads");
}

TEST_F(StructureTest, UnknownInstancesAreSaidToBe) {
  EXPECT_EQ(scope_cell(l1_, Room::full, notes_).mark, "");
  l1_.instances_per_scope.reset();
  EXPECT_EQ(scope_cell(l1_, Room::full, notes_).text, "SM");
  EXPECT_EQ(note(), "how many of it one has: not measured");
}

TEST_F(StructureTest, SameAsNamesTheFirstOfOnePhysicalCache) {
  Topology t;
  t.memories = {l1_, memory("texture", "Texture", Scope::sm, "l1"), memory("l2", "L2", Scope::gpu, "")};
  EXPECT_EQ(same_as_cell(t, t.memories[0], "", notes_).text, "");
  EXPECT_EQ(same_as_cell(t, t.memories[1], "", notes_).text, "l1");
  EXPECT_TRUE(notes_.notes().empty());
  EXPECT_EQ(same_as_cell(t, t.memories[2], "", notes_).text, "-");
  EXPECT_EQ(note(), "not measured");
}

TEST_F(StructureTest, WhatIsNotThereHasNoFootnotes) {
  l1_.scope.reset();
  l1_.physical_cache.clear();
  l1_.attributes["size"].status = Status::not_supported;
  Topology t;
  t.memories = {l1_};
  EXPECT_EQ(scope_cell(l1_, Room::full, notes_).mark, "");
  EXPECT_EQ(same_as_cell(t, t.memories[0], "", notes_).text, "");
  EXPECT_TRUE(notes_.notes().empty());
}

}  // namespace
}  // namespace gputopo::report
