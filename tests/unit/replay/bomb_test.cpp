// Recordings of a few bytes that ask for gigabytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/replay/integer_text.hpp"
#include "device/replay/recording.hpp"
#include "device/replay/trace_text.hpp"

namespace gputopo::replay {
namespace {

using ::testing::HasSubstr;

std::string objection_to_file(const Recording& recording) {
  const auto parsed = parse_recording(to_text(recording));
  return parsed ? "" : parsed.error().message;
}

TEST(Bomb, SmsAreCountedBeforeTheyAreMade) {
  Recording recording;
  recording.runs.push_back({1, "x", {{}, std::vector<std::uint32_t>(5000, 7), {}}});
  EXPECT_LT(to_text(recording).size(), 2000U);
  EXPECT_THAT(objection_to_file(recording),
              HasSubstr("the SMs of run 0 can't be decoded: damaged, or more than 4096 numbers"));
}

TEST(Bomb, AllRunsShareOneBudget) {
  Recording recording;
  program::PhaseTrace phase;
  phase.loads = 1000000;
  phase.lap_cycles.assign(1000000, 40);
  for (std::uint64_t run = 0; run < 40; ++run) recording.runs.push_back({run, "x", {{phase}, {1}, {}}});
  EXPECT_LT(to_text(recording).size(), 8000U);
  EXPECT_THAT(objection_to_file(recording),
              HasSubstr("the phases of run 33 can't be decoded: damaged, or more than 33554432 numbers"));
}

TEST(Bomb, APhaseCostsWhatItTakes) {
  std::string text = "A,A";
  for (int i = 1; i < 100; ++i) text += ";A,A";
  std::size_t enough = 100 * ((sizeof(program::PhaseTrace) + 7) / 8);
  std::size_t too_little = enough - 1;
  EXPECT_TRUE(decode_phases(text, enough));
  EXPECT_EQ(enough, 0U);
  EXPECT_FALSE(decode_phases(text, too_little));
}

TEST(Bomb, NoGpuHasSoManySms) {
  Recording recording;
  recording.info.gpu.sm_count = 4096;
  EXPECT_EQ(objection_to_file(recording), "");
  recording.info.gpu.sm_count = 0x80000000U;
  EXPECT_THAT(objection_to_file(recording), HasSubstr("2147483648 SMs, and no GPU has over 4096"));
}

TEST(Bomb, ValuesAreCounted) {
  std::string text = "[0";
  for (int i = 0; i < 5000000; ++i) text += ",0";
  EXPECT_THAT(parse_recording(text + "]").error().message, HasSubstr("holds over 4194304 values"));
}

TEST(Bomb, AnAlteredRecordingIsNotEvenDecoded) {
  Recording recording;
  recording.runs.push_back({1, "x", {{}, std::vector<std::uint32_t>(5000, 7), {}}});
  std::string text = to_text(recording);
  text.replace(text.find("\"x\""), 3, "\"y\"");
  EXPECT_THAT(parse_recording(text).error().message, HasSubstr("checksum"));
}

}  // namespace
}  // namespace gputopo::replay
