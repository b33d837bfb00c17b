#include "device/open/open.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/open/installed.hpp"

namespace gputopo::device {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Open, ASimulatedGpuSaysSo) {
  const auto opened = open(*parse_spec("sim:k20c"));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->headline, "Tesla K20c (simulated, model k20c)");
  EXPECT_TRUE(opened->device->info().simulated);
}

TEST(Open, AModelFileIsOpened) {
  const std::string path = std::string(GPUTOPO_SOURCE_DIR) + "/probes/models/p6000.json";
  const auto opened = open(*parse_spec("sim:" + path));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->device->info().gpu.name, "Quadro P6000");
}

TEST(Open, WhatIsNotThereIsAnErrorThatNamesIt) {
  EXPECT_THAT(open(*parse_spec("sim:h2000")).error().message, HasSubstr("h2000"));
  EXPECT_THAT(open(*parse_spec("sim:/nowhere.json")).error().message, HasSubstr("/nowhere.json"));
  EXPECT_THAT(open(*parse_spec("replay:/nowhere")).error().message, HasSubstr("/nowhere"));
  EXPECT_EQ(open(*parse_spec("cuda:4000")).error().kind, Error::Kind::unavailable);
}

TEST(Open, AutomaticNeverShowsAModelInPlaceOfAGpu) {
  if (!list_devices().real.empty()) GTEST_SKIP() << "the GPU here can be measured";
  std::string pattern = testing::TempDir() + "gputopo-root-XXXXXX";
  const fs::path root = mkdtemp(pattern.data());
  OpenOptions options;
  options.root = root;
  const auto expect_refusal = [&] {
    const auto opened = open(Spec{}, options);
    ASSERT_FALSE(opened) << opened->headline;
    EXPECT_EQ(opened.error().kind, Error::Kind::unavailable);
    EXPECT_THAT(opened.error().message, HasSubstr("can't measure the NVIDIA GPU 0000:3b:00.0: "));
  };
  const auto write = [](const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  };
  const fs::path pci = root / "sys/bus/pci/devices/0000:3b:00.0";
  EXPECT_TRUE(open(Spec{}, options)) << "no GPU at all";
  write(pci / "vendor", "0x10de");
  write(pci / "class", "0x068000");
  EXPECT_TRUE(open(Spec{}, options)) << "a bridge of NVIDIA's";
  for (const char* gpu : {"0x030000", "0x030200", "0x120000"}) {
    write(pci / "class", gpu);
    expect_refusal();
  }
  write(pci / "vendor", "0x8086");
  EXPECT_TRUE(open(Spec{}, options)) << "somebody else's GPU";
  write(root / "proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: NVIDIA H200");
  expect_refusal();
  fs::remove_all(root);
}

TEST(Open, AutomaticIsARealGpuOrSaysThatItIsSimulated) {
  const auto opened = open(Spec{});
  if (!installed_gpu("").empty() && list_devices().real.empty()) GTEST_SKIP() << "the GPU here can't be measured";
  ASSERT_TRUE(opened) << opened.error().message;
  if (opened->device->info().simulated)
    EXPECT_THAT(opened->headline, HasSubstr("(simulated, since there is no GPU to measure: "));
  else
    EXPECT_THAT(opened->headline, HasSubstr("(real GPU, cuda:0)"));
}

TEST(Open, EveryListedModelOpens) {
  const DeviceList list = list_devices();
  EXPECT_GE(list.simulated.size(), 4U);
  for (const Listed& listed : list.simulated) {
    const auto opened = open(*parse_spec(listed.spec));
    ASSERT_TRUE(opened) << listed.spec;
    EXPECT_EQ(opened->device->info().gpu, listed.info.gpu);
  }
  EXPECT_EQ(list.real.empty(), !list.no_real_reason.empty());
}

}  // namespace
}  // namespace gputopo::device
