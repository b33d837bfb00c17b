// Workloads in recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/replay/recording_device.hpp"
#include "device/replay/replay_device.hpp"

namespace gputopo::replay {
namespace {

using program::Workload;
using program::WorkloadTrace;
using testing::HasSubstr;

// Answers every workload but those of a kernel that it lacks.
class FewWorkloads : public device::Device {
 public:
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch&) override {
    return fail(Error::Kind::device, "unused");
  }
  Expected<WorkloadTrace> run_workload(const Workload& w) override {
    if (w.kernel == "unknown") return fail(Error::Kind::unavailable, "no such kernel");
    WorkloadTrace t{++cycles_, 2, 3, 4, 5, std::vector<std::uint32_t>(w.output_words, 77), {}};
    if (w.output_words == 0) t.traffic = program::MemoryTraffic{1.5e9, 0.25};
    return t;
  }

 private:
  device::DeviceInfo info_;
  std::uint64_t cycles_ = 100;
};

Workload workload(const char* kernel, std::uint32_t words) {
  Workload w;
  w.label = w.kernel = kernel;
  w.output_words = words;
  return w;
}

Recording recorded_workloads() {
  FewWorkloads few;
  RecordingDevice recorder(few);
  EXPECT_TRUE(recorder.run_workload(workload("clocks", 3)));
  EXPECT_FALSE(recorder.run_workload(workload("unknown", 0)));
  EXPECT_TRUE(recorder.run_workload(workload("product", 0)));
  EXPECT_TRUE(recorder.run_workload(workload("product", 0)));
  return recorder.recording();
}

TEST(RecordedWorkloads, ComeBackInOrderWithWhatTheDeviceCouldntRun) {
  auto read = parse_recording(to_text(recorded_workloads()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->workloads, recorded_workloads().workloads);
  ReplayDevice replay(std::move(*read));
  EXPECT_EQ(replay.run_workload(workload("clocks", 3))->output, std::vector<std::uint32_t>({77, 77, 77}));
  EXPECT_EQ(replay.run_workload(workload("product", 0))->cycles, 102U);
  EXPECT_EQ(replay.run_workload(workload("product", 0))->traffic->read, 1.5e9);
  EXPECT_EQ(replay.run_workload(workload("unknown", 0)).error().message, "no such kernel");
  EXPECT_THAT(replay.run_workload(workload("sweep", 0)).error().message, HasSubstr("doesn't hold the workload"));
}

TEST(RecordedWorkloads, OfOtherWordsAreBadInput) {
  Recording wrong = recorded_workloads();
  wrong.workloads.front().trace.output.pop_back();
  ReplayDevice replay(wrong);
  EXPECT_THAT(replay.run_workload(workload("clocks", 3)).error().message, HasSubstr("gave other words"));
}

TEST(RecordedWorkloads, AreLeftOutWhereThereAreNone) {
  Recording none = recorded_workloads();
  none.workloads.clear();
  EXPECT_EQ(to_text(none).find("workloads"), std::string::npos);
}

}  // namespace
}  // namespace gputopo::replay
