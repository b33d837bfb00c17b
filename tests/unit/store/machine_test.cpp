#include "store/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"

namespace gputopo::store {
namespace {

class MachineTest : public testing::Test {
 protected:
  void add_gpu(const std::string& bus_id, const std::string& information) {
    const std::string folder = root_.path() + "/proc/driver/nvidia/gpus/" + bus_id;
    std::filesystem::create_directories(folder);
    write_file(folder + "/information", information);
  }
  void add_file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_.path() + path).parent_path());
    write_file(root_.path() + path, text);
  }
  Machine read() const { return read_machine(root_.path()); }

 private:
  TemporaryFolder root_;
};

constexpr const char* h200 =
    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 58\nGPU UUID: \t GPU-01234567-89ab-cdef-0123-456789abcdef\n"
    "Video BIOS: \t 96.00.99.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nBus Location: \t 0000:3b:00.0\n"
    "Device Minor: \t 0\nGPU Firmware: \t 580.159.04\nGPU Excluded:\t No\n";

TEST_F(MachineTest, AMachineWithoutTheDriverHasNoGpus) {
  EXPECT_TRUE(read().gpus.empty());
  EXPECT_EQ(read().driver_version, "");
}

TEST_F(MachineTest, ReadsNameUuidAndDriver) {
  add_gpu("0000:3b:00.0", h200);
  add_file("/sys/module/nvidia/version", "580.159.04\n");
  const Machine machine = read();
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-01234567-89ab-cdef-0123-456789abcdef");
  EXPECT_EQ(machine.gpus[0].pci_bus_id, "0000:3b:00.0");
  EXPECT_EQ(machine.driver_version, "580.159.04");
}

TEST_F(MachineTest, ListsGpusInPciOrder) {
  add_gpu("0000:c1:00.0", h200);
  add_gpu("0000:3b:00.0", h200);
  add_gpu("0001:01:00.0", h200);
  const Machine machine = read();
  ASSERT_EQ(machine.gpus.size(), 3U);
  EXPECT_EQ(machine.gpus[0].pci_bus_id, "0000:3b:00.0");
  EXPECT_EQ(machine.gpus[2].pci_bus_id, "0001:01:00.0");
}

TEST_F(MachineTest, AGpuThatNobodyHasUsedYetHasNoUuid) {
  const std::string four(4, '?');
  const std::string uuid = "GPU-" + four + four + "-" + four + "-" + four + "-" + four + four + four;
  add_gpu("0000:3b:00.0", "Model: \t\t Unknown\nGPU UUID: \t " + uuid + "\n");
  ASSERT_EQ(read().gpus.size(), 1U);
  EXPECT_EQ(read().gpus[0].uuid, "");
}

TEST_F(MachineTest, TakesTheDriversVersionFromProcWhereSysfsLacksIt) {
  add_gpu("0000:3b:00.0", h200);
  add_file("/proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (root@)\n"
           "GCC version:  gcc version 12.2.0\n");
  EXPECT_EQ(read().driver_version, "580.159.04");
  add_file("/proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n");
  EXPECT_EQ(read().driver_version, "535.54.03");
}

TEST_F(MachineTest, SurvivesStrangeFiles) {
  add_gpu("0000:3b:00.0", "");
  add_gpu("0000:3c:00.0", std::string(100000, 'x'));
  add_gpu("not a gpu", h200);
  add_gpu("0000:3d:00.0", "GPU UUID");
  const Machine machine = read();
  EXPECT_EQ(machine.gpus.size(), 3U);
  for (const InstalledGpu& gpu : machine.gpus) EXPECT_EQ(gpu.uuid, "");
}

TEST(NormalBusId, HasLowerCaseAndFourDigitsOfDomain) {
  EXPECT_EQ(normal_bus_id("0000:3b:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normal_bus_id("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normal_bus_id("10000:01:1f.7"), "10000:01:1f.7");
  for (const char* wrong : {"", ".", "..", "3b:00.0", "0000:3b:00.0x", "0000:3b:00", "gpu"})
    EXPECT_EQ(normal_bus_id(wrong), "") << wrong;
}

}  // namespace
}  // namespace gputopo::store
