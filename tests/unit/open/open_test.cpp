#include "device/open/open.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::device {
namespace {

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

TEST(Open, AutomaticIsARealGpuOrSaysThatItIsSimulated) {
  const auto opened = open(Spec{});
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
