#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loaded.hpp"
#include "sample.hpp"

namespace gputopo::hwloc_export {
namespace {

// What hwloc's own CUDA backend leaves under a GPU's PCI device.
std::string with_cuda_device(std::string xml, const std::string& bus_id, const std::string& name) {
  const std::size_t device = xml.find("pci_busid=\"" + bus_id + "\"");
  const std::size_t end = xml.find("</object>", device);
  return xml.insert(end, "<object type=\"OSDev\" gp_index=\"200\" name=\"" + name +
                             "\" subtype=\"CUDA\" osdev_type=\"5\"><info name=\"Backend\" value=\"CUDA\"/></object>");
}

TEST(Annotate, CreatesTheDeviceUnderItsPciDevice) {
  Loaded machine;
  const Annotation done = machine.annotated(sample());
  ASSERT_NE(done.device, nullptr);
  EXPECT_TRUE(done.created_device);
  EXPECT_EQ(done.objects_added, 8U);
  EXPECT_STREQ(done.device->name, "cuda0");
  EXPECT_STREQ(done.device->subtype, "CUDA");
  ASSERT_EQ(done.device->parent->type, HWLOC_OBJ_PCI_DEVICE);
  EXPECT_EQ(done.device->parent->attr->pcidev.bus, 0x3b);
  EXPECT_EQ(info(done.device, "GPUTopoL1dSize"), "246656");
  EXPECT_EQ(info(done.device, "GPUModel"), "NVIDIA Sample");
  EXPECT_EQ(machine.misc_count(), 8U);
  EXPECT_EQ(machine.device_count(), 1U);
}

TEST(Annotate, EveryObjectCarriesTheGpusIdentity) {
  Loaded machine;
  machine.annotated(sample());
  for (hwloc_obj_t misc = nullptr;
       (misc = hwloc_get_next_obj_by_depth(machine.get(), HWLOC_TYPE_DEPTH_MISC, misc)) != nullptr;) {
    EXPECT_NE(info(misc, "GPUTopoId"), "");
    EXPECT_EQ(info(misc, "GPUDevice"), "cuda0");
    EXPECT_EQ(info(misc, "PCIBusID"), "0000:3b:00.0");
    EXPECT_EQ(info(misc, "UUID"), sample().gpu.uuid);
  }
}

TEST(Annotate, UsesTheDeviceOfHwlocsCudaBackend) {
  Loaded machine(with_cuda_device(two_gpus_xml(), "0000:3b:00.0", "cuda7"));
  const Annotation done = machine.annotated(sample());
  EXPECT_FALSE(done.created_device);
  ASSERT_NE(done.device, nullptr);
  EXPECT_STREQ(done.device->name, "cuda7");
  EXPECT_EQ(machine.device_count(), 1U);
  EXPECT_EQ(machine.misc_count(), 8U);
  EXPECT_EQ(info(done.device, "GPUTopoL2Size"), "62914560");
}

TEST(Annotate, LeavesAGpuAloneThatTheCudaBackendDoesNotList) {
  // As under CUDA_VISIBLE_DEVICES=0: "cuda1" would be a device that CUDA doesn't have.
  Loaded machine(with_cuda_device(two_gpus_xml(), "0000:c1:00.0", "cuda0"));
  const Annotation done = machine.annotated(sample());
  EXPECT_EQ(done.device, nullptr);
  EXPECT_EQ(machine.device_count(), 1U);
  EXPECT_EQ(machine.misc_count(), 0U);
}

TEST(Annotate, DoesNothingTwice) {
  Loaded machine;
  machine.annotated(sample());
  const std::string once = machine.xml();
  const Annotation again = machine.annotated(sample());
  EXPECT_FALSE(again.created_device);
  EXPECT_EQ(again.objects_added, 0U);
  EXPECT_EQ(again.infos_added, 0U);
  EXPECT_EQ(machine.xml(), once);
}

TEST(Annotate, SeveralGpusHaveTheirOwnNumbers) {
  Loaded machine;
  Topology second = sample();
  second.gpu.uuid = "GPU-second";
  second.gpu.pci_bus_id = "0000:c1:00.0";
  machine.annotated(second, 1);
  machine.annotated(sample(), 0);
  EXPECT_EQ(machine.device_count(), 2U);
  EXPECT_EQ(machine.misc_count(), 16U);
  EXPECT_EQ(machine.annotated(second, 1).device->attr->osdev.type, HWLOC_OBJ_OSDEV_COPROC);
  EXPECT_STREQ(machine.annotated(second, 1).device->name, "cuda1");
  EXPECT_STREQ(machine.annotated(sample(), 0).device->name, "cuda0");
}

TEST(Annotate, ATakenNumberIsNotTakenAgain) {
  Loaded machine;
  Topology second = sample();
  second.gpu.uuid = "GPU-second";
  second.gpu.pci_bus_id = "0000:c1:00.0";
  machine.annotated(sample(), 0);
  EXPECT_STREQ(machine.annotated(second, 0).device->name, "cuda1");
}

TEST(Annotate, WithoutAPciDeviceNothingIsCreatedUnlessAPlaceIsGiven) {
  Loaded machine;
  Topology elsewhere = sample();
  elsewhere.gpu.pci_bus_id = "0000:99:00.0";
  EXPECT_EQ(machine.annotated(elsewhere).device, nullptr);
  EXPECT_EQ(machine.misc_count(), 0U);
  const Annotation done = machine.annotated(elsewhere, 0, true);
  ASSERT_NE(done.device, nullptr);
  EXPECT_EQ(done.device->parent, hwloc_get_root_obj(machine.get()));
  EXPECT_EQ(machine.annotated(elsewhere, 0, true).objects_added, 0U);
  EXPECT_EQ(machine.device_count(), 1U);
}

TEST(Annotate, ASimulatedGpuStandsBesideRealOnesAndSaysSo) {
  Loaded machine;
  Topology simulated = sample();
  simulated.provenance.simulated = true;
  simulated.provenance.device = "sim";
  simulated.gpu.uuid.clear();
  machine.annotated(sample(), 0);
  const Annotation done = machine.annotated(simulated, 0, true);
  ASSERT_NE(done.device, nullptr);
  EXPECT_STREQ(done.device->name, "cuda1");
  EXPECT_EQ(info(done.device, "GPUModel"), "NVIDIA Sample (simulated)");
  EXPECT_EQ(info(done.device, "GPUTopoSource"), "simulated");
  EXPECT_THAT(done.device->misc_first_child->name, testing::HasSubstr("simulated"));
  EXPECT_EQ(info(done.device->misc_first_child, "Simulated"), "1");
  EXPECT_EQ(machine.annotated(simulated, 0, true).objects_added, 0U);
  EXPECT_EQ(machine.device_count(), 2U);
}

TEST(Annotate, ASimulatedGpuMayJoinWhatTheCudaBackendLists) {
  Loaded machine(with_cuda_device(two_gpus_xml(), "0000:c1:00.0", "cuda0"));
  Topology simulated = sample();
  simulated.provenance.simulated = true;
  EXPECT_STREQ(machine.annotated(simulated, 0, true).device->name, "cuda1");
}

TEST(Annotate, RefusesATopologyThatDoesNotMakeSense) {
  Loaded machine;
  Topology umlaut = sample();
  umlaut.find("l2")->label = "K\xc3\xa4se";
  const auto done = annotate(machine.get(), umlaut, Target{"0000:3b:00.0", 0, nullptr});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Error::Kind::bad_input);
  EXPECT_EQ(machine.device_count(), 0U);
}

}  // namespace
}  // namespace gputopo::hwloc_export
