#include "hwloc_export/xml.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loaded.hpp"
#include "sample.hpp"

namespace gputopo::hwloc_export {
namespace {

// machine_xml() takes what hwloc takes for this machine.
class MachineXml : public testing::Test {
 protected:
  void SetUp() override { setenv("HWLOC_XMLFILE", GPUTOPO_SOURCE_DIR "/tests/fixtures/hwloc/two-gpus.xml", 1); }
  void TearDown() override { unsetenv("HWLOC_XMLFILE"); }
};

TEST_F(MachineXml, HasEveryGpuUnderItsPciDevice) {
  Topology second = sample();
  second.gpu.uuid = "GPU-second";
  second.gpu.pci_bus_id = "0000:c1:00.0";
  const auto xml = machine_xml({sample(), second});
  ASSERT_TRUE(xml) << xml.error().message;
  EXPECT_TRUE(xml->notes.empty());
  unsetenv("HWLOC_XMLFILE");
  Loaded loaded(xml->text);
  EXPECT_EQ(loaded.device_count(), 2U);
  EXPECT_EQ(loaded.misc_count(), 16U);
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(loaded.get(), device)) != nullptr;)
    EXPECT_EQ(device->parent->type, HWLOC_OBJ_PCI_DEVICE);
}

TEST_F(MachineXml, SaysWhichGpuIsOfAnotherMachine) {
  Topology elsewhere = sample();
  elsewhere.gpu.pci_bus_id = "0000:99:00.0";
  const auto xml = machine_xml({elsewhere});
  ASSERT_TRUE(xml);
  ASSERT_EQ(xml->notes.size(), 1U);
  EXPECT_THAT(xml->notes[0], testing::HasSubstr("NVIDIA Sample has no PCI device 0000:99:00.0 here"));
}

TEST_F(MachineXml, RefusesATopologyThatDoesNotMakeSense) {
  Topology circle = sample();
  circle.find("device_memory")->parent = "l1";
  EXPECT_FALSE(machine_xml({circle}));
}

}  // namespace
}  // namespace gputopo::hwloc_export
