#include "catalog/catalog.hpp"

#include <set>

#include <gtest/gtest.h>

#include "counters/metrics.hpp"
#include "hwloc_export/names.hpp"
#include "program/program.hpp"

namespace gputopo::catalog {
namespace {

TEST(Catalog, NoIdStandsTwice) {
  std::set<std::string_view> ids;
  for (const MemoryRow& row : memories()) EXPECT_TRUE(ids.insert(row.id).second) << row.id;
  ids.clear();
  for (const AttributeRow& row : attributes()) EXPECT_TRUE(ids.insert(row.id).second) << row.id;
}

TEST(Catalog, FindsRowsById) {
  ASSERT_NE(find_memory("constant_l1_5"), nullptr);
  EXPECT_EQ(find_memory("constant_l1_5")->label, "Constant L1.5 cache");
  EXPECT_EQ(find_memory("victim_cache"), nullptr);
  ASSERT_NE(find_attribute("line_size"), nullptr);
  EXPECT_EQ(find_attribute("line_size")->unit, "B");
  EXPECT_EQ(find_attribute("line"), nullptr);
}

TEST(Catalog, NumberedAttributesAreOfAFamily) {
  ASSERT_NE(find_attribute("far_latency_from_side_1"), nullptr);
  EXPECT_EQ(find_attribute("far_latency_from_side_1")->id, "far_latency_from_side");
  EXPECT_EQ(find_attribute("far_latency_from_side_12"), find_attribute("far_latency_from_side_1"));
  for (const char* id : {"far_latency_from_side_", "far_latency_from_side1", "_1", "1", ""})
    EXPECT_EQ(find_attribute(id), nullptr) << id;
}

TEST(Catalog, ParentsAreMemoriesAndTheNearestThatIsThereServesTheMisses) {
  for (const MemoryRow& row : memories())
    for (const std::string_view parent : row.parents)
      EXPECT_TRUE(parent.empty() || find_memory(parent) != nullptr) << row.id << ": " << parent;
  const MemoryRow& row = *find_memory("constant_l1");
  EXPECT_EQ(nearest_parent(row, [](std::string_view) { return true; }), "constant_l1_5");
  EXPECT_EQ(nearest_parent(row, [](std::string_view id) { return id != "constant_l1_5"; }), "l2");
  EXPECT_EQ(nearest_parent(row, [](std::string_view id) { return id == "device_memory"; }), "device_memory");
  EXPECT_EQ(nearest_parent(row, [](std::string_view) { return false; }), "");
  EXPECT_EQ(nearest_parent(*find_memory("shared"), [](std::string_view) { return true; }), "");
}

TEST(Catalog, PathsAreThoseOfPrograms) {
  using program::Path;
  std::set<std::string_view> paths;
  for (const Path path : {Path::global_cached, Path::global_l2_only, Path::read_only, Path::texture, Path::constant,
                          Path::shared, Path::instruction})
    paths.insert(program::to_string(path));
  for (const MemoryRow& row : memories()) EXPECT_TRUE(paths.contains(row.path)) << row.id << ": " << row.path;
}

TEST(Catalog, CountersAreThoseThatCountItsMissesOnAGh100) {
  const auto chip = counters::find_chip("GH100");
  ASSERT_TRUE(chip);
  for (const MemoryRow& row : memories()) {
    const counters::MemoryMetrics* metrics = chip->find(row.id);
    EXPECT_EQ(metrics != nullptr ? metrics->misses : std::string_view(), row.counter) << row.id;
  }
}

TEST(Catalog, HwlocNamesSayTheUnitAsThoseOfUnknownAttributesDo) {
  for (const AttributeRow& row : attributes()) {
    // A name that the catalog doesn't have is made by the rule; this one only differs in its first letters.
    const std::string made = hwloc_export::info_name("x_" + std::string(row.id), row.unit);
    EXPECT_EQ("X" + std::string(row.hwloc), made) << row.id;
    EXPECT_TRUE(row.hwloc_flat.empty() || row.hwloc.starts_with(row.hwloc_flat)) << row.id;
  }
}

TEST(Catalog, EveryRowIsDescribed) {
  for (const AttributeRow& row : attributes()) {
    EXPECT_FALSE(row.label.empty()) << row.id;
    EXPECT_TRUE(row.description.ends_with(".")) << row.id;
  }
}

}  // namespace
}  // namespace gputopo::catalog
