// Streams in recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/replay/recording_device.hpp"
#include "device/replay/replay_device.hpp"

namespace gputopo::replay {
namespace {

using program::Stream;
using testing::HasSubstr;

// Answers every stream but those of one byte.
class FewStreams : public device::Device {
 public:
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch&) override {
    return fail(Error::Kind::device, "unused");
  }
  Expected<program::StreamTrace> run_stream(const Stream& s) override {
    if (s.access_bytes == 1) return fail(Error::Kind::unavailable, "no such kernel");
    return program::StreamTrace{program::counted_bytes(s), program::counted_accesses(s), 12345, ++ns_, 1};
  }

 private:
  device::DeviceInfo info_;
  std::uint64_t ns_ = 6000;
};

Stream stream(std::uint32_t access_bytes) {
  Stream s;
  s.label = "s";
  s.access_bytes = access_bytes;
  return program::fitted(s, 4096);
}

Recording recorded() {
  FewStreams few;
  RecordingDevice recorder(few);
  EXPECT_TRUE(recorder.run_stream(stream(4)));
  EXPECT_FALSE(recorder.run_stream(stream(1)));
  EXPECT_TRUE(recorder.run_stream(stream(4)));
  return recorder.recording();
}

TEST(RecordedStreams, ComeBackInOrderWithWhatTheDeviceCouldntRun) {
  auto read = parse_recording(to_text(recorded()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->streams, recorded().streams);
  ReplayDevice replay(std::move(*read));
  EXPECT_EQ(replay.run_stream(stream(4))->ns, 6001U);
  EXPECT_EQ(replay.run_stream(stream(4))->ns, 6002U);
  const auto refused = replay.run_stream(stream(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  EXPECT_EQ(refused.error().message, "no such kernel");
  const auto missing = replay.run_stream(stream(8));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(missing.error().message, HasSubstr("doesn't hold the stream"));
}

TEST(RecordedStreams, LeaveRecordingsWithoutThemAsTheyWere) {
  Recording none = recorded();
  none.streams.clear();
  EXPECT_EQ(to_text(none).find("streams"), std::string::npos);
}

TEST(RecordedStreams, AlteredOnesAreRefused) {
  std::string text = to_text(recorded());
  const auto at = text.find("12345");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(parse_recording(text.replace(at, 5, "12346")).error().message, HasSubstr("checksum"));
}

TEST(RecordedStreams, OtherBytesThanTheStreamMovesAreRefused) {
  Recording wrong = recorded();
  wrong.streams[0].trace.bytes += 1;
  ReplayDevice replay(std::move(wrong));
  EXPECT_THAT(replay.run_stream(stream(4)).error().message, HasSubstr("moved other bytes"));
}

}  // namespace
}  // namespace gputopo::replay
