#include "device/replay/replay_device.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/replay/recording_device.hpp"
#include "device/sim/sim_device.hpp"

namespace gputopo::replay {
namespace {

using program::Batch;
using program::Program;
using ::testing::HasSubstr;

Program recorded_walk(std::uint64_t footprint, program::Record record) {
  program::Walk w;
  w.footprint_bytes = footprint;
  w.stride_bytes = 128;
  w.path = program::Path::global_cached;
  program::Walk timed = w;
  timed.record = record;
  Program p;
  p.label = "walk";
  p.buffers = {{program::Space::global, 1U << 20, 0}};
  p.phases = {w, timed};
  return p;
}

std::unique_ptr<device::Device> simulated() {
  return sim::make_device(*sim::builtin_model("h200"));
}

// Latencies jitter, so that two runs of one program differ and their order shows.
const Batch first{recorded_walk(65536, program::Record::latencies), recorded_walk(131072, program::Record::histogram)};
const Batch second{recorded_walk(65536, program::Record::latencies), recorded_walk(65536, program::Record::lap_times)};

TEST(ReplayDevice, AnswersWhatTheRecordedDeviceAnswered) {
  const auto inner = simulated();
  RecordingDevice recorder(*inner);
  const auto a = recorder.run(first);
  const auto b = recorder.run(second);
  ASSERT_TRUE(a && b);
  auto parsed = parse_recording(to_text(recorder.recording()));
  ASSERT_TRUE(parsed);
  ReplayDevice replayed(std::move(*parsed));
  EXPECT_EQ(*replayed.run(first), *a);
  EXPECT_EQ(*replayed.run(second), *b);
}

TEST(ReplayDevice, GivesTheNthRunOfAProgramToItsNthRequest) {
  const auto inner = simulated();
  RecordingDevice recorder(*inner);
  const auto a = recorder.run({first[0]});
  const auto b = recorder.run({first[1], first[0]});
  ASSERT_TRUE(a && b);
  ASSERT_NE(a->at(0), b->at(1)) << "the simulator's noise should tell the runs apart";
  ReplayDevice replayed(recorder.recording());
  EXPECT_EQ(replayed.run({first[0], first[0]})->at(1), b->at(1));
  EXPECT_EQ(replayed.run({first[1]})->at(0), b->at(0));
}

TEST(ReplayDevice, SaysThatItReplays) {
  const auto inner = simulated();
  RecordingDevice recorder(*inner);
  EXPECT_EQ(recorder.info().kind, "sim");
  const ReplayDevice replayed(recorder.recording());
  EXPECT_EQ(replayed.info().kind, "replay");
  EXPECT_TRUE(replayed.info().simulated);
  EXPECT_EQ(replayed.info().gpu, inner->info().gpu);
}

// On whose SMs another process's blocks were met.
class SharedGpu final : public device::Device {
 public:
  const device::DeviceInfo& info() const override { return device_->info(); }
  bool is_shared() const override { return true; }
  Expected<std::vector<program::ProgramTrace>> run(const Batch& batch) override { return device_->run(batch); }

 private:
  std::unique_ptr<device::Device> device_ = simulated();
};

TEST(ReplayDevice, IsSharedWhereTheRecordedDeviceWas) {
  SharedGpu shared;
  RecordingDevice recorder(shared);
  ASSERT_TRUE(recorder.run({first[0]}));
  EXPECT_TRUE(ReplayDevice(recorder.recording()).is_shared());
}

TEST(ReplayDevice, RefusesAProgramThatIsNotInTheRecording) {
  const auto inner = simulated();
  RecordingDevice recorder(*inner);
  ASSERT_TRUE(recorder.run({first[0]}));
  ReplayDevice replayed(recorder.recording());
  const auto unknown = replayed.run({first[1]});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(unknown.error().message, HasSubstr("doesn't hold the program 'walk'"));
  EXPECT_THAT(unknown.error().message, HasSubstr("record again with --record"));
  ASSERT_TRUE(replayed.run({first[0]}));
  EXPECT_FALSE(replayed.run({first[0]})) << "recorded once, asked for twice";
}

// A file can be altered so that its checksum fits and it agrees with itself.
std::string refusal_of_replay(const Program& program, const program::ProgramTrace& trace) {
  Recording recording;
  recording.runs = {{program::hash(program), "walk", trace}};
  const auto parsed = parse_recording(to_text(recording));
  EXPECT_TRUE(parsed) << parsed.error().message;
  ReplayDevice replayed(*parsed);
  const auto answer = replayed.run({program});
  if (answer) return "accepted";
  EXPECT_EQ(answer.error().kind, Error::Kind::bad_input);
  EXPECT_EQ(answer.error().message.find('\n'), std::string::npos);
  return answer.error().message;
}

TEST(ReplayDevice, RefusesARunOfAnotherShape) {
  const Program program = recorded_walk(4096, program::Record::histogram);  // 32 loads a phase
  const program::PhaseTrace warm{32, 0, {}, {}, {}};
  const program::PhaseTrace timed{32, 0, {}, {}, {{38, 32}}};
  EXPECT_EQ(refusal_of_replay(program, {{warm, timed}, {0}, {}}), "accepted");
  EXPECT_THAT(refusal_of_replay(program, {{warm}, {0}, {}}),
              HasSubstr("another shape than the program: 1 phases for 2"));
  EXPECT_THAT(refusal_of_replay(program, {{warm, timed}, {0, 1}, {}}), HasSubstr("2 SMs for 1 agents"));
  EXPECT_THAT(refusal_of_replay(program, {{warm, timed}, {}, {}}), HasSubstr("0 SMs for 1 agents"));
}

TEST(ReplayDevice, RefusesWhatTheProgramDoesNotRecord) {
  using program::Record;
  const program::PhaseTrace warm{32, 0, {}, {}, {}};
  const auto refusal = [&](Record record, const program::PhaseTrace& timed) {
    return refusal_of_replay(recorded_walk(4096, record), {{warm, timed}, {0}, {}});
  };
  const std::vector<std::uint32_t> lap(32, 38);
  EXPECT_THAT(refusal(Record::histogram, warm), HasSubstr("'walk' has a phase 1 with a histogram of other than"));
  EXPECT_THAT(refusal(Record::histogram, {64, 0, {}, {}, {{38, 64}}}), HasSubstr("64 loads, the program makes 32"));
  EXPECT_THAT(refusal(Record::latencies, warm), HasSubstr("0 latencies, the program records 32"));
  EXPECT_THAT(refusal(Record::latencies, {32, 0, {38, 38}, {}, {}}), HasSubstr("2 latencies, the program records 32"));
  EXPECT_EQ(refusal(Record::latencies, {32, 0, lap, {}, {}}), "accepted");
  EXPECT_THAT(refusal(Record::lap_time, {32, 1088, lap, {}, {}}), HasSubstr("32 latencies, the program records 0"));
  EXPECT_THAT(refusal(Record::lap_time, {32, 1088, {}, {}, {{38, 32}}}), HasSubstr("a histogram that the program"));
  EXPECT_EQ(refusal(Record::lap_time, {32, 1088, {}, {}, {}}), "accepted");
  EXPECT_THAT(refusal(Record::lap_times, warm), HasSubstr("the times of 0 laps, the program records 1"));
  EXPECT_EQ(refusal(Record::lap_times, {32, 0, {}, {1088}, {}}), "accepted");
  EXPECT_THAT(refusal(Record::lap_times, {32, 0, {}, {544, 544}, {}}), HasSubstr("the times of 2 laps"));
}

TEST(ReplayDevice, RefusesAnInvalidProgramAsAnyDeviceDoes) {
  Program bad = first[0];
  bad.buffers.clear();
  ReplayDevice replayed{Recording{}};
  EXPECT_THAT(replayed.run({bad}).error().message, HasSubstr("a buffer that isn't there"));
}

TEST(RecordingDevice, KeepsNothingOfABatchThatFailed) {
  const auto inner = simulated();
  RecordingDevice recorder(*inner);
  Program bad = first[0];
  bad.buffers.clear();
  EXPECT_FALSE(recorder.run({first[0], bad}));
  EXPECT_TRUE(recorder.recording().runs.empty());
}

TEST(RecordingDevice, KeepsWhatCanBeOpened) {
  const auto folder = std::filesystem::temp_directory_path() / ("gputopo_replay_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "r.json").string();
  const auto inner = simulated();
  RecordingDevice recorder(*inner);
  const auto traces = recorder.run(first);
  std::ofstream(path) << to_text(recorder.recording());
  auto opened = open_replay(path);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*(*opened)->run(first), *traces);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gputopo::replay
