// What a user reads where the driver or the GPU can't be used: one line with what, why and what to do.
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "device/cuda/cuda_device.hpp"

namespace gputopo::device {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string fake = std::string(GPUTOPO_BINARY_DIR) + "/tests/libfake_cuda.so";
const std::string empty = std::string(GPUTOPO_BINARY_DIR) + "/tests/libempty_cuda.so";

// No folder for a lock: tests that run at once don't wait for each other.
cuda::GpuLockOptions no_turns() {
  cuda::GpuLockOptions options;
  options.folders.clear();
  return options;
}

class Driver : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void script(const std::string& name, int value) {
    setenv(name.c_str(), std::to_string(value).c_str(), 1);
    set_.push_back(name);
  }
  static Error error_of(const std::string& library, int ordinal = 0) {
    const auto opened = open_cuda(ordinal, no_turns(), library);
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }
  // A program that any device could run.
  static program::Batch small_batch() {
    program::Program p;
    p.label = "small";
    p.buffers = {{program::Space::global, 4096, 0}};
    program::Walk walk;
    walk.footprint_bytes = 4096;
    walk.record = program::Record::histogram;
    p.phases.emplace_back(walk);
    return {p};
  }

 private:
  std::vector<std::string> set_;
};

void expect_one_line(const Error& error) {
  EXPECT_THAT(error.message, Not(HasSubstr("\n")));
  EXPECT_THAT(error.message, HasSubstr(";")) << "lacks what to do";
}

TEST_F(Driver, ThatIsMissingIsUnavailable) {
  const Error error = error_of("libcuda-that-is-not-there.so");
  EXPECT_EQ(error.kind, Error::Kind::unavailable);
  EXPECT_THAT(error.message, HasSubstr("no NVIDIA driver"));
  expect_one_line(error);
}

TEST_F(Driver, ThatLacksAFunctionIsTooOld) {
  const Error error = error_of(empty);
  EXPECT_EQ(error.kind, Error::Kind::unavailable);
  EXPECT_THAT(error.message, HasSubstr("too old"));
  expect_one_line(error);
}

TEST_F(Driver, WithoutAGpuIsUnavailable) {
  script("FAKE_COUNT", 0);
  const Error error = error_of(fake);
  EXPECT_EQ(error.kind, Error::Kind::unavailable);
  EXPECT_THAT(error.message, HasSubstr("no GPU"));
  expect_one_line(error);
  const auto list = list_cuda(fake);
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->empty());
}

TEST_F(Driver, WithoutThatGpuSaysWhichThereAre) {
  EXPECT_THAT(error_of(fake, 7).message, HasSubstr("gputopo devices"));
}

TEST_F(Driver, ThatCanNotStartSaysWhy) {
  script("FAKE_cuInit", 803);  // kernel module and library of different versions
  const Error error = error_of(fake);
  EXPECT_EQ(error.kind, Error::Kind::unavailable);
  EXPECT_THAT(error.message, HasSubstr("reboot so that"));
  expect_one_line(error);
}

#ifdef GPUTOPO_HAS_MACHINE_CODE
TEST_F(Driver, RunsMachineCodeWhereThereIsSome) {
  const auto opened = open_cuda(0, no_turns(), fake);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->info().kernels, "machine_code");
}

TEST_F(Driver, OtherRefusalsOfMachineCodeAreTold) {
  script("FAKE_machine_code", 2);
  EXPECT_THAT(error_of(fake).message, HasSubstr("free device memory"));
}
#endif

TEST_F(Driver, AssemblesThePtxWhereThereIsNoMachineCodeForTheGpu) {
  script("FAKE_machine_code", 209);
  const auto opened = open_cuda(0, no_turns(), fake);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->info().kernels, "ptx");
}

TEST_F(Driver, WithoutAnAssemblerSaysWhatToInstall) {
  script("FAKE_machine_code", 209);
  for (const auto& [code, what] :
       {std::pair{221, "libnvidia-ptxjitcompiler"}, std::pair{223, "CUDA_DISABLE_PTX_JIT"}}) {
    script("FAKE_ptx", code);
    const Error error = error_of(fake);
    EXPECT_EQ(error.kind, Error::Kind::unavailable);
    EXPECT_THAT(error.message, HasSubstr(what));
    expect_one_line(error);
  }
}

TEST_F(Driver, TooOldForTheKernelsIsUnavailable) {
  script("FAKE_machine_code", 209);
  for (const int code : {209, 218, 222}) {  // no binary for this GPU; PTX it doesn't know; PTX of a newer version
    script("FAKE_ptx", code);
    const Error error = error_of(fake);
    EXPECT_EQ(error.kind, Error::Kind::unavailable);
    EXPECT_THAT(error.message, HasSubstr("update the NVIDIA driver"));
    expect_one_line(error);
  }
}

TEST_F(Driver, GpuInProhibitedModeIsUnavailable) {
  script("FAKE_COMPUTE_MODE", 2);
  const Error error = error_of(fake);
  EXPECT_EQ(error.kind, Error::Kind::unavailable);
  EXPECT_THAT(error.message, HasSubstr("prohibited"));
  expect_one_line(error);
}

TEST_F(Driver, GpuThatAnotherProcessHoldsExclusivelyIsUnavailable) {
  script("FAKE_cuDevicePrimaryCtxRetain", 46);
  const Error error = error_of(fake);
  EXPECT_EQ(error.kind, Error::Kind::unavailable);
  EXPECT_THAT(error.message, HasSubstr("exclusively"));
  expect_one_line(error);
}

// A context alone disturbs who measures: no process makes one before its turn.
TEST_F(Driver, WaitsForItsTurnBeforeItMakesAContext) {
  const std::string folder = ::testing::TempDir() + "gputopo_turns_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  cuda::GpuLockOptions options;
  options.folders = {folder};
  const std::string uuid = list_cuda(fake)->front().gpu.uuid;
  const int other = ::open((folder + "/gputopo-" + uuid + ".lock").c_str(), O_CREAT | O_RDONLY, 0666);
  ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  options.patience = std::chrono::milliseconds(50);
  bool waited = false;
  options.waiting = [&](std::string_view) { waited = true; };
  script("FAKE_cuDevicePrimaryCtxRetain", 46);
  EXPECT_FALSE(open_cuda(0, options, fake));
  EXPECT_TRUE(waited);
  ::close(other);
  std::filesystem::remove_all(folder);
}

TEST_F(Driver, OutOfMemoryIsUnavailable) {
  auto opened = open_cuda(0, no_turns(), fake);
  ASSERT_TRUE(opened) << opened.error().message;
  script("FAKE_cuMemAlloc", 2);
  const auto traces = (*opened)->run(small_batch());
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(traces.error().message, HasSubstr("free device memory"));
  expect_one_line(traces.error());
}

TEST_F(Driver, StickyErrorSaysThatTheContextIsLost) {
  auto opened = open_cuda(0, no_turns(), fake);
  ASSERT_TRUE(opened) << opened.error().message;
  for (const int code : {700, 719}) {  // illegal address; launch failed
    script("FAKE_cuStreamSynchronize", code);
    const auto traces = (*opened)->run(small_batch());
    ASSERT_FALSE(traces);
    EXPECT_EQ(traces.error().kind, Error::Kind::device);
    EXPECT_THAT(traces.error().message, HasSubstr("context is lost"));
    expect_one_line(traces.error());
  }
}

TEST_F(Driver, GpuThatPlacesNoBlockIsReportedAndNotWaitedForForever) {
  auto opened = open_cuda(0, no_turns(), fake);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto traces = (*opened)->run(small_batch());
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(traces.error().message, HasSubstr("another process"));
}

TEST_F(Driver, ListsGpusWithoutAContext) {
  script("FAKE_cuDevicePrimaryCtxRetain", 46);
  const auto list = list_cuda(fake);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().gpu.name, "Fake GPU");
  EXPECT_EQ(list->front().gpu.uuid, "GPU-11111111-1111-1111-1111-111111111111");
  EXPECT_EQ(list->front().gpu.pci_bus_id, "0000:3b:00.0");
  EXPECT_EQ(list->front().gpu.compute_capability, "9.0");
  EXPECT_EQ(list->front().gpu.limits, (Limits{128, 32, 1024, 2048, 32, 49152, 65536}));
}

}  // namespace
}  // namespace gputopo::device
