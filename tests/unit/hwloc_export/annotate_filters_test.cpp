// A program's type filters decide what it gets: hwloc drops nothing that a component inserts, so annotate has to look.
#include <gtest/gtest.h>

#include "loaded.hpp"
#include "sample.hpp"

namespace gputopo::hwloc_export {
namespace {

TEST(AnnotateFilters, WithoutMiscTheDeviceStillHasFlatAttributes) {
  Loaded machine(two_gpus_xml(), {HWLOC_TYPE_FILTER_KEEP_ALL, HWLOC_TYPE_FILTER_KEEP_NONE});
  const Annotation done = machine.annotated(sample());
  ASSERT_NE(done.device, nullptr);
  EXPECT_EQ(info(done.device, "GPUTopoL1dSize"), "246656");
  EXPECT_EQ(machine.misc_count(), 0U);
}

TEST(AnnotateFilters, WithImportantIoOnlyTheGpuIsThere) {
  Loaded machine(two_gpus_xml(), {HWLOC_TYPE_FILTER_KEEP_IMPORTANT, HWLOC_TYPE_FILTER_KEEP_ALL});
  EXPECT_EQ(machine.annotated(sample()).objects_added, 8U);
}

TEST(AnnotateFilters, WithoutIoNothingIsAdded) {
  Loaded machine(two_gpus_xml(), {HWLOC_TYPE_FILTER_KEEP_NONE, HWLOC_TYPE_FILTER_KEEP_ALL});
  EXPECT_EQ(machine.annotated(sample(), 0, true).device, nullptr);
  EXPECT_EQ(machine.misc_count(), 0U);
  EXPECT_EQ(machine.device_count(), 0U);
}

TEST(AnnotateFilters, WithoutPciTheDeviceHangsWhereTheCallerSays) {
  Loaded machine;
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  const std::string xml = two_gpus_xml();
  hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size() + 1));
  ASSERT_EQ(hwloc_topology_load(topology), 0);
  hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const auto done = annotate(topology, sample(), Target{"0000:3b:00.0", 0, package});
  ASSERT_TRUE(done);
  ASSERT_NE(done->device, nullptr);
  EXPECT_EQ(done->device->parent, package);
  const auto again = annotate(topology, sample(), Target{"0000:3b:00.0", 0, package});
  EXPECT_EQ(again->device, done->device);
  EXPECT_EQ(again->objects_added, 0U);
  hwloc_topology_reconnect(topology, 0);
  hwloc_topology_check(topology);
  hwloc_topology_destroy(topology);
}

TEST(AnnotateFilters, MemoriesMovedToTheMachineAreNotAddedAgain) {
  Loaded machine;
  machine.annotated(sample());
  // A reader without I/O objects: hwloc keeps the Misc objects and hangs them off the machine.
  Loaded moved(machine.xml(), {HWLOC_TYPE_FILTER_KEEP_NONE, HWLOC_TYPE_FILTER_KEEP_ALL});
  EXPECT_EQ(moved.misc_count(), 8U);
  Loaded reloaded(moved.xml());
  EXPECT_EQ(reloaded.misc_count(), 8U);
  EXPECT_EQ(reloaded.annotated(sample(), 0, true).objects_added, 0U);
  EXPECT_EQ(reloaded.misc_count(), 8U);
}

}  // namespace
}  // namespace gputopo::hwloc_export
