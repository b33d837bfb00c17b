#include <clocale>
#include <gputopo_hwloc.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loaded.hpp"
#include "sample.hpp"

namespace gputopo::hwloc_export {
namespace {

Topology with_carve_outs() {
  Topology t = sample();
  for (const double shared : {8192.0, 32768.0, 233472.0}) {
    CarveOut& c = t.find("l1")->carve_outs.emplace_back();
    c.shared_bytes = estimate(shared, "B");
    c.usable_bytes = estimate(254848 - shared, "B");
  }
  for (std::uint32_t sm = 0; sm < 132; ++sm) t.sm_places.push_back({sm, {}, {}, {}, sm < 64 ? 0U : 1U});
  return t;
}

class HelperTest : public testing::Test {
 protected:
  HelperTest() : device_(machine_.annotated(with_carve_outs()).device) {}
  hwloc_topology_t topology() const { return machine_.get(); }
  hwloc_obj_t device() const { return device_; }
  hwloc_obj_t memory(const char* id) const { return gputopo_hwloc_memory_by_id(topology(), device_, id); }

 private:
  Loaded machine_;
  hwloc_obj_t device_;
};

TEST_F(HelperTest, FindsTheDeviceByNameUuidAndPci) {
  EXPECT_EQ(gputopo_hwloc_next_device(topology(), nullptr), device());
  EXPECT_EQ(gputopo_hwloc_next_device(topology(), device()), nullptr);
  EXPECT_EQ(gputopo_hwloc_device_by_name(topology(), "cuda0"), device());
  EXPECT_EQ(gputopo_hwloc_device_by_name(topology(), "cuda1"), nullptr);
  EXPECT_EQ(gputopo_hwloc_device_by_uuid(topology(), sample().gpu.uuid.c_str()), device());
  EXPECT_EQ(gputopo_hwloc_device_by_uuid(topology(), "GPU-0"), nullptr);
  EXPECT_EQ(gputopo_hwloc_device_by_pci(topology(), 0, 0x3b, 0, 0), device());
  EXPECT_EQ(gputopo_hwloc_device_by_pci(topology(), 0, 0xc1, 0, 0), nullptr);
  EXPECT_EQ(gputopo_hwloc_is_simulated(device()), 0);
}

TEST_F(HelperTest, WalksEveryMemoryOfOneDeviceOnce) {
  std::vector<std::string> ids;
  for (hwloc_obj_t m = nullptr; (m = gputopo_hwloc_next_memory(topology(), device(), m)) != nullptr;)
    ids.push_back(info(m, "GPUTopoId"));
  EXPECT_THAT(ids,
              testing::UnorderedElementsAre("device_memory", "l2", "constant_l1_5", "l1", "constant_l1", "shared"));
}

TEST_F(HelperTest, ReadsNumbersWithTheirUnits) {
  std::uint64_t bytes = 0;
  double number = 0;
  ASSERT_EQ(gputopo_hwloc_size(memory("l1"), "l1", &bytes), 0);
  EXPECT_EQ(bytes, 246656U);
  ASSERT_EQ(gputopo_hwloc_line_size(memory("l1"), nullptr, &bytes), 0);
  EXPECT_EQ(bytes, 128U);
  ASSERT_EQ(gputopo_hwloc_latency_cycles(memory("l1"), "l1", &number), 0);
  EXPECT_EQ(number, 38);
  ASSERT_EQ(gputopo_hwloc_latency_ns(memory("l1"), "l1", &number), 0);
  EXPECT_EQ(number, 19);
  EXPECT_STREQ(gputopo_hwloc_scope(memory("constant_l1_5")), "gpc");
  EXPECT_STREQ(gputopo_hwloc_text(memory("l1"), "texture", "Method"), "residency");
}

TEST_F(HelperTest, TheNamesOfOnePhysicalCacheAreOneObjectWithTheirOwnNumbers) {
  double cycles = 0;
  EXPECT_EQ(memory("texture"), memory("l1"));
  ASSERT_EQ(gputopo_hwloc_latency_cycles(memory("texture"), "texture", &cycles), 0);
  EXPECT_EQ(cycles, 87);
  errno = 0;
  EXPECT_EQ(gputopo_hwloc_latency_cycles(memory("read_only"), "read_only", &cycles), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(HelperTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(memory("victim"), nullptr);
  EXPECT_EQ(memory("text"), nullptr);
  std::uint64_t bytes = 0;
  errno = 0;
  EXPECT_EQ(gputopo_hwloc_sector_size(memory("l2"), nullptr, &bytes), -1);
  EXPECT_EQ(errno, ENOENT);
  double number = 0;
  errno = 0;
  EXPECT_EQ(gputopo_hwloc_number(memory("l2"), nullptr, "Status", &number), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(HelperTest, SharingIsARange) {
  unsigned least = 0, most = 0;
  ASSERT_EQ(gputopo_hwloc_shared_by_sms(memory("constant_l1_5"), &least, &most), 0);
  EXPECT_EQ(least, 16U);
  EXPECT_EQ(most, 18U);
  ASSERT_EQ(gputopo_hwloc_shared_by_sms(memory("l1"), &least, &most), 0);
  EXPECT_EQ(least, 1U);
  EXPECT_EQ(most, 1U);
}

TEST_F(HelperTest, TellsWhichSmsShareACache) {
  EXPECT_STREQ(gputopo_hwloc_sms(memory("constant_l1_5"), 0), "0-15");
  EXPECT_STREQ(gputopo_hwloc_sms(memory("constant_l1_5"), 7), "114-131");
  EXPECT_EQ(gputopo_hwloc_sms(memory("constant_l1_5"), 8), nullptr);
  EXPECT_EQ(gputopo_hwloc_sms(memory("l2"), 0), nullptr);
  unsigned group = 99;
  ASSERT_EQ(gputopo_hwloc_group_of_sm(memory("constant_l1_5"), 96, &group), 0);
  EXPECT_EQ(group, 6U);
  errno = 0;
  EXPECT_EQ(gputopo_hwloc_group_of_sm(memory("constant_l1_5"), 132, &group), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(HelperTest, TellsWhichSideOfTheL2AnSmIsOn) {
  unsigned side = 99;
  ASSERT_EQ(gputopo_hwloc_l2_side_of_sm(topology(), device(), 63, &side), 0);
  EXPECT_EQ(side, 0U);
  ASSERT_EQ(gputopo_hwloc_l2_side_of_sm(topology(), device(), 64, &side), 0);
  EXPECT_EQ(side, 1U);
  EXPECT_EQ(gputopo_hwloc_l2_side_of_sm(topology(), device(), 132, &side), -1);
  EXPECT_STREQ(gputopo_hwloc_sms(gputopo_hwloc_object_by_id(topology(), device(), "part_gpc"), 1), "16-31");
  EXPECT_EQ(gputopo_hwloc_object_by_id(topology(), device(), "part_tpc"), nullptr);
}

TEST(HelperSms, AListHasItsRanges) {
  for (const unsigned sm : {0U, 1U, 16U, 17U, 40U}) EXPECT_NE(gputopo_hwloc_list_has_sm("0-1,16-17,40", sm), 0) << sm;
  for (const unsigned sm : {2U, 15U, 18U, 4U, 400U}) EXPECT_EQ(gputopo_hwloc_list_has_sm("0-1,16-17,40", sm), 0) << sm;
  for (const char* odd : {"", ",", "x", "-", "3-", "99999999999999999999"}) gputopo_hwloc_list_has_sm(odd, 3);
}

TEST_F(HelperTest, UsableBytesAreThoseOfTheSmallestCarveOutThatHoldsTheNeed) {
  std::uint64_t bytes = 0;
  const auto usable = [&](std::uint64_t shared) {
    return gputopo_hwloc_usable_bytes(memory("l1"), shared, &bytes) == 0 ? bytes : 0;
  };
  EXPECT_EQ(usable(0), 246656U);
  EXPECT_EQ(usable(8192), 246656U);
  EXPECT_EQ(usable(8193), 222080U);
  EXPECT_EQ(usable(233472), 21376U);
  EXPECT_EQ(usable(233473), 0U);
  EXPECT_EQ(gputopo_hwloc_usable_bytes(memory("l2"), 0, &bytes), -1);
}

TEST_F(HelperTest, FlatAttributesServeProgramsWithoutMiscObjects) {
  double value = 0;
  ASSERT_EQ(gputopo_hwloc_flat_number(device(), "GPUTopoL1dSize", &value), 0);
  EXPECT_EQ(value, 246656);
}

TEST(HelperParse, IgnoresTheLocaleAndRefusesWhatIsNoNumber) {
  setlocale(LC_NUMERIC, "de_DE.UTF-8");
  double value = 0;
  const char* end = nullptr;
  EXPECT_EQ(gputopo_hwloc_parse("19.25 x", &value, &end), 0);
  EXPECT_EQ(value, 19.25);
  EXPECT_STREQ(end, " x");
  EXPECT_EQ(gputopo_hwloc_parse("x", &value, &end), -1);
  EXPECT_EQ(gputopo_hwloc_parse("", &value, &end), -1);
  EXPECT_EQ(gputopo_hwloc_parse(".5", &value, &end), -1);
  setlocale(LC_NUMERIC, "C");
}

}  // namespace
}  // namespace gputopo::hwloc_export
