#include "counters/metrics.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::counters {
namespace {

TEST(Metrics, EveryChipCountsEveryMemoryInOnePass) {
  std::set<std::string_view> names;
  for (const Chip& chip : chips()) {
    EXPECT_TRUE(names.insert(chip.name).second) << chip.name << " is listed twice";
    for (const char* memory : {"l1", "texture", "read_only", "constant_l1", "constant_l1_5", "l2", "device_memory",
                               "instruction_l1", "instruction_l1_5"}) {
      const MemoryMetrics* m = chip.find(memory);
      if (chip.name == "GV100" && std::string_view(memory) == "instruction_l1") {
        EXPECT_EQ(m, nullptr) << "Volta has no counters of it";
        continue;
      }
      ASSERT_NE(m, nullptr) << chip.name << ' ' << memory;
      EXPECT_NE(m->loads, m->misses);
      EXPECT_EQ(m->passes, 1U) << "a second pass would find other caches";
    }
    EXPECT_EQ(chip.find("shared"), nullptr);
  }
  for (const char* chip : {"GV100", "TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"})
    EXPECT_TRUE(names.contains(chip)) << chip;
}

TEST(Metrics, AnotherChipsAreNeverTried) {
  EXPECT_EQ(find_chip("GH100")->name, "GH100");
  for (const char* name : {"GH200", "gh100", "GH10", "", "GP100"}) {
    const auto chip = find_chip(name);
    ASSERT_FALSE(chip) << name;
    EXPECT_EQ(chip.error().kind, Error::Kind::unavailable);
    EXPECT_THAT(chip.error().message, ::testing::HasSubstr("is not known"));
  }
}

TEST(Metrics, DeviceMemoryIsCountedUnderTheNameThatTheChipHas) {
  EXPECT_EQ(find_chip("GH100")->find("device_memory")->misses, "dram__sectors_read.sum");
  EXPECT_EQ(find_chip("GB202")->find("device_memory")->misses, "dram__sectors_op_read.sum");
}

}  // namespace
}  // namespace gputopo::counters
