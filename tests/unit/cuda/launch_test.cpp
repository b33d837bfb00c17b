// Launches on a stand-in for a GPU that checks every address it is given.
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda/cuda_device.hpp"

namespace gputopo::device {
namespace {

using program::Batch;
using program::Path;
using program::Program;
using program::Record;
using program::Walk;
using testing::HasSubstr;

class Launch : public testing::Test {
 protected:
  void SetUp() override {
    script("FAKE_PLACES_AT", 1);
    cuda::GpuLockOptions no_turns;
    no_turns.folders.clear();
    auto opened = open_cuda(0, no_turns, std::string(GPUTOPO_BINARY_DIR) + "/tests/libfake_cuda.so");
    ASSERT_TRUE(opened) << opened.error().message;
    device_ = std::move(*opened);
  }
  void TearDown() override {
    device_.reset();
    for (const auto& name : scripted_) unsetenv(name.c_str());
  }
  void script(const std::string& name, int value) {
    setenv(name.c_str(), std::to_string(value).c_str(), 1);
    scripted_.push_back(name);
  }
  static Program program_of(std::uint64_t bytes, Record record, std::uint64_t stride = 32) {
    Program p;
    p.label = "test";
    p.buffers = {{program::Space::global, bytes, 0}};
    Walk walk;
    walk.footprint_bytes = bytes;
    walk.stride_bytes = stride;
    walk.record = record;
    p.phases.emplace_back(walk);
    return p;
  }
  std::unique_ptr<Device> device_;

 private:
  std::vector<std::string> scripted_;
};

TEST_F(Launch, GrowsABufferBeforeAnyProgramLearnsItsAddress) {
  const auto traces = device_->run({program_of(4096, Record::lap_time), program_of(64 << 20, Record::histogram),
                                    program_of(4096, Record::latencies)});
  EXPECT_TRUE(traces) << traces.error().message;
}

TEST_F(Launch, LaysFourByteAddressesOnOneSideOf4GiB) {
  script("FAKE_CROSSING", 1);
  const auto traces = device_->run({program_of(8192, Record::lap_times, 4)});
  EXPECT_TRUE(traces) << traces.error().message;
  const auto wide = device_->run({program_of(8192, Record::lap_times, 8)});
  EXPECT_TRUE(wide) << wide.error().message;
}

TEST_F(Launch, TimesAsManyLapsAsThereIsRoomFor) {
  Program p = program_of(4096, Record::lap_times);
  std::get<Walk>(p.phases[0]).laps = 1408;
  const auto traces = device_->run({p});
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->at(0).phases[0].lap_cycles.size(), 1408U);
  EXPECT_EQ(traces->at(0).phases[0].lap_cycles.back(), 1507U);
  ++std::get<Walk>(p.phases[0]).laps;
  const auto refused = device_->run({p});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::bad_input);
  EXPECT_THAT(refused.error().message, HasSubstr("times 1409 laps one by one, at most 1408 fit"));
}

TEST_F(Launch, TellsWhatTheBlocksSawOfTheTimer) {
  EXPECT_EQ(device_->run({program_of(4096, Record::histogram)})->at(0).interruptions.switches, 0U);
  script("FAKE_GAPS", 4);  // one on each SM, at once
  const auto traces = device_->run({program_of(4096, Record::histogram)});
  ASSERT_TRUE(traces);
  EXPECT_EQ(traces->at(0).interruptions.switches, 1U);
  EXPECT_EQ(traces->at(0).interruptions.away_ns, 800U);
}

TEST_F(Launch, TriesAgainUntilThereIsRoomForItsBlocks) {
  script("FAKE_PLACES_AT", 5);
  const auto traces = device_->run({program_of(4096, Record::histogram)});
  EXPECT_TRUE(traces) << traces.error().message;
}

TEST_F(Launch, GivesUpWhereThereIsNoRoomButTakesItsTime) {
  script("FAKE_PLACES_AT", 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto traces = device_->run({program_of(4096, Record::histogram)});
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(traces.error().message, HasSubstr("MPS"));
  EXPECT_GT(took, std::chrono::milliseconds(300));
  EXPECT_LT(took, std::chrono::seconds(5));
}

TEST_F(Launch, TakesTheMemoryThatStreamsHeldWhereItNeedsIt) {
  constexpr std::uint64_t mebi = 1 << 20;
  const auto fits = [&](std::uint64_t bytes) {
    return device_->run({program_of(bytes, Record::histogram)}).has_value();
  };
  ASSERT_TRUE(fits(4096));
  script("FAKE_MEBIBYTES", 200);
  script("FAKE_PLACES_AT", 0);  // a stream's blocks are none of a chase's
  program::Stream stream;
  stream.blocks = 4;
  (void)device_->run_stream(program::fitted(stream, 120 * mebi));
  script("FAKE_PLACES_AT", 1);
  EXPECT_TRUE(fits(120 * mebi)) << "beside the stream's buffer there is no room for it";
  EXPECT_FALSE(fits(220 * mebi));
}

}  // namespace
}  // namespace gputopo::device
