// Every way in which somebody or something keeps a process from counting: one line, with the remedy.
#include <algorithm>
#include <array>

#include <gmock/gmock.h>

#include "fake_session.hpp"

namespace gputopo::counters {
namespace {

using ::testing::HasSubstr;

struct Refusal {
  int code;
  const char* remedy;
};
constexpr std::array<Refusal, 14> refusals{{{26, "another profiler holds the counters"},
                                            {27, "NVreg_RestrictProfilingToAdminUsers=0"},
                                            {33, "use a GPU that is passed through whole"},
                                            {35, "run as root"},
                                            {36, "CUDA_INJECTION64_PATH"},
                                            {38, "CUDA_INJECTION64_PATH"},
                                            {39, "another profiler holds the counters"},
                                            {40, "hypervisor"},
                                            {41, "confidential computing"},
                                            {42, "mining"},
                                            {43, "switch MIG off"},
                                            {44, "SLI"},
                                            {45, "Manage GPU Performance Counters"},
                                            {46, "install a newer CUDA toolkit"}}};

using Refused = FakeSession;

void expect_one_line(const Error& error) {
  EXPECT_EQ(std::count(error.message.begin(), error.message.end(), '\n'), 0);
  EXPECT_THAT(error.message, HasSubstr("; "));
}

TEST_F(Refused, EveryCodeHasItsRemedyWhereverItComesUp) {
  for (const char* function : {"cuptiProfilerInitialize", "cuptiProfilerDeviceSupported", "cuptiDeviceGetChipName",
                               "cuptiProfilerGetCounterAvailability", "cuptiRangeProfilerEnable"})
    for (const Refusal& refusal : refusals) {
      fake() = FakeCupti{};
      fake().failing = function;
      fake().code = refusal.code;
      const auto counter = open();
      ASSERT_FALSE(counter) << function;
      EXPECT_EQ(counter.error().kind, Error::Kind::unavailable) << function << refusal.code;
      EXPECT_THAT(counter.error().message, HasSubstr(refusal.remedy)) << function;
      EXPECT_THAT(counter.error().message, HasSubstr("CUPTI error " + std::to_string(refusal.code)));
      expect_one_line(counter.error());
      EXPECT_EQ(fake().initialized, 0) << function;
      EXPECT_EQ(fake().enabled, 0) << function;
    }
}

TEST_F(Refused, LateRefusalsToo) {
  for (const char* function :
       {"cuptiProfilerHostInitialize", "cuptiProfilerHostGetConfigImageSize", "cuptiProfilerHostGetConfigImage",
        "cuptiProfilerHostGetNumOfPasses", "cuptiRangeProfilerGetCounterDataSize",
        "cuptiRangeProfilerCounterDataImageInitialize", "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart"}) {
    fake() = FakeCupti{};
    auto counter = open();
    ASSERT_TRUE(counter);
    fake().failing = function;
    fake().code = 39;
    const auto started = (*counter)->start({"a"}, 1);
    ASSERT_FALSE(started) << function;
    EXPECT_THAT(started.error().message, HasSubstr("another profiler holds the counters"));
    // Once the other one is gone, counting works.
    fake().failing.clear();
    EXPECT_TRUE((*counter)->start({"a"}, 1)) << function;
    EXPECT_TRUE((*counter)->stop());
  }
}

TEST_F(Refused, FailuresWhileReadingAreTheDevices) {
  for (const char* function : {"cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData",
                               "cuptiRangeProfilerGetCounterDataInfo", "cuptiProfilerHostEvaluateToGpuValues"}) {
    fake() = FakeCupti{};
    auto counter = open();
    ASSERT_TRUE(counter);
    ASSERT_TRUE((*counter)->start({"a"}, 1));
    stretch(**counter, 1);
    fake().failing = function;
    fake().code = 9;
    const auto values = (*counter)->stop();
    ASSERT_FALSE(values) << function;
    EXPECT_EQ(values.error().kind, Error::Kind::device);
    fake().failing.clear();
  }
}

TEST_F(Refused, StretchesThatFailAreTold) {
  auto counter = open();
  ASSERT_TRUE(counter);
  ASSERT_TRUE((*counter)->start({"a"}, 1));
  fake().code = 9;
  fake().failing = "cuptiRangeProfilerPushRange";
  EXPECT_THAT((*counter)->begin_stretch().error().message, HasSubstr("doesn't begin"));
  fake().failing = "cuptiRangeProfilerPopRange";
  ASSERT_TRUE((*counter)->begin_stretch());
  EXPECT_THAT((*counter)->end_stretch().error().message, HasSubstr("doesn't end"));
  fake().failing.clear();
}

TEST_F(Refused, WhatTheDeviceDoesNotSupportIsSaid) {
  fake().support = 1;
  EXPECT_THAT(open().error().message, HasSubstr("offers no counters to this process"));
  fake().v_gpu = 2;
  EXPECT_THAT(open().error().message, HasSubstr("hypervisor"));
  fake().v_gpu = 1;
  EXPECT_THAT(open().error().message, HasSubstr("passed through whole"));
  fake().confidential = 1;
  EXPECT_THAT(open().error().message, HasSubstr("confidential computing"));
  EXPECT_EQ(open().error().kind, Error::Kind::unavailable);
}

TEST_F(Refused, WithoutAnOpenGpuThereIsNothingToCount) {
  fake().has_context = false;
  const auto counter = open();
  ASSERT_FALSE(counter);
  EXPECT_THAT(counter.error().message, HasSubstr("open the device first"));
}

TEST_F(Refused, MissingLibrariesAreNamed) {
  const auto none = open_counter(0, {{"libcupti.so.nowhere"}, FAKE_CUPTI});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(none.error().message, HasSubstr("libcupti.so.nowhere can't be loaded"));
  EXPECT_THAT(none.error().message, HasSubstr("install the CUDA toolkit"));
  const auto old = open_counter(0, {{"libm.so.6"}, FAKE_CUPTI});
  ASSERT_FALSE(old);
  EXPECT_THAT(old.error().message, HasSubstr("CUPTI is too old: libm.so.6 lacks cupti"));
  const auto driver = open_counter(0, {{FAKE_CUPTI}, "libcuda.so.nowhere"});
  ASSERT_FALSE(driver);
  EXPECT_THAT(driver.error().message, HasSubstr("libcuda.so.nowhere can't be loaded"));
}

TEST_F(Refused, ALibraryThatLoadsIsTakenAfterOnesThatDoNot) {
  EXPECT_TRUE(open_counter(0, {{"libcupti.so.nowhere", "libm.so.6", FAKE_CUPTI}, FAKE_CUPTI}));
}

}  // namespace
}  // namespace gputopo::counters
