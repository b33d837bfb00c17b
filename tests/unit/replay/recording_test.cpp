#include "device/replay/recording.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::replay {
namespace {

using ::testing::HasSubstr;

Recording example_recording() {
  Recording r;
  r.info.gpu = {"NVIDIA Test \"1\"", "GPU-1", "0000:3b:00.0", "9.0", 132, 1980000, 0, 3201000, 6144};
  r.info.kind = "cuda";
  r.info.driver_version = "580.1";
  r.info.recorded = "2026-01-02T03:04:05Z";
  r.info.memory_bytes = 150754820096;
  r.info.l2_bytes = 1;
  r.info.shared_bytes_per_sm = 2;
  r.info.shared_bytes_per_block = 3;
  r.info.shared_reserved_per_block = 4;
  r.info.constant_bytes_per_module = 5;
  r.info.constant_modules = 6;
  r.info.texture_elements = 7;
  r.info.largest_buffer_bytes = 8;
  r.info.largest_recording = 9;
  r.info.warps_per_block = 10;
  r.info.has_no_allocate = true;
  r.info.has_execute = true;
  r.info.execute_unit_bytes = 11;
  r.info.execute_limit_bytes = 12;
  r.info.gpu.limits = {128, 32, 1024, 2048, 32, 49152, 65536};
  r.runs = {{0x0123456789abcdefULL, "l1 size, 4096 B", {{{32, 0, {}, {}, {}}, {3, 0, {38, 39, 400}, {}, {}}}, {7}, {}}},
            {0xfedcba9876543210ULL, "", {{{5, 6, {}, {}, {{38, 4}, {90, 1}}}}, {0, 131}, {2, 5100000, 1.9784}}},
            {0x1111111111111111ULL, "laps", {{{96, 0, {}, {1094, 1094, 5000000000}, {}}}, {3}, {}}},
            {0, "none", {}}};
  return r;
}

std::string refusal_of_recording(const std::string& text) {
  const auto parsed = parse_recording(text);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  return parsed.error().message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Recording, KeepsWhetherOthersRanBeside) {
  Recording r = example_recording();
  EXPECT_THAT(to_text(r), testing::Not(HasSubstr("shared\": true")));
  r.info.may_run_beside_others = r.is_shared = true;
  const auto read = parse_recording(to_text(r));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->info.may_run_beside_others);
  EXPECT_TRUE(read->is_shared);
}

// Where its memory lies is told of a run that asked for it, whether anything interrupted it or not.
TEST(Recording, KeepsWhereMemoryLies) {
  Recording r = example_recording();
  r.runs[0].trace.address = 0x7f4ee6000000;
  r.runs[1].trace.address = 0x302000000;
  const std::string text = to_text(r);
  EXPECT_THAT(text, HasSubstr(",\"\",\"00007f4ee6000000\"]"));
  const auto read = parse_recording(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->runs, r.runs);
}

TEST(Recording, ComesBackBitForBit) {
  const Recording before = example_recording();
  const auto after = parse_recording(to_text(before));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->runs, before.runs);
  EXPECT_EQ(to_text(*after), to_text(before));  // the device's fields too
  EXPECT_EQ(after->info.gpu, before.info.gpu);
  EXPECT_EQ(after->info.recorded, "2026-01-02T03:04:05Z");
  EXPECT_EQ(after->info.execute_limit_bytes, 12U);
  EXPECT_TRUE(after->info.has_no_allocate);
  EXPECT_FALSE(after->info.has_read_only);
}

TEST(Recording, HasOneLineARun) {
  const std::string text = to_text(example_recording());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 4 + 2);  // schema, device, runs [, each run, ], checksum
}

TEST(Recording, NamesThatAreNotUtf8AreKeptReadable) {
  Recording r = example_recording();
  r.runs[0].label = "l1 \xff";
  r.info.gpu.name = "GPU \xc3";
  EXPECT_TRUE(parse_recording(to_text(r)));
}

TEST(Recording, EveryTruncationIsRefused) {
  const std::string text = to_text(example_recording());
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    ASSERT_NE(refusal_of_recording(text.substr(0, length)), "accepted") << length;
}

TEST(Recording, EveryAlteredDigitIsRefused) {
  const std::string text = to_text(example_recording());
  const auto from = text.find("\"device\"");
  for (std::size_t at = from; at < text.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) continue;
    std::string altered = text;
    altered[at] = altered[at] == '5' ? '6' : '5';
    ASSERT_NE(refusal_of_recording(altered), "accepted") << at << ": " << text.substr(at, 20);
  }
}

TEST(Recording, RefusalsSayWhy) {
  const std::string text = to_text(example_recording());
  EXPECT_THAT(refusal_of_recording(text.substr(0, text.size() / 2)), HasSubstr("not valid JSON at line"));
  EXPECT_THAT(refusal_of_recording(replaced(text, "recording/1", "recording/2")),
              HasSubstr("schema isn't 'gputopo-recording/1'"));
  EXPECT_THAT(refusal_of_recording(replaced(text, "\"sm_count\":132", "\"sm_count\":133")), HasSubstr("checksum"));
  EXPECT_THAT(refusal_of_recording(replaced(text, "\"sm_count\":132", "\"sm_count\":-1")),
              HasSubstr("'sm_count' isn't a whole number from 0 to"));
  EXPECT_THAT(refusal_of_recording(replaced(text, "\"sm_count\":132", "\"sm_count\":4294967296")),
              HasSubstr("'sm_count' isn't a whole number from 0 to 4294967295"));
  EXPECT_THAT(refusal_of_recording(replaced(text, "\"sm_count\":132,", "")), HasSubstr("lacks 'sm_count'"));
  EXPECT_THAT(refusal_of_recording(replaced(text, "l1 size, 4096 B", "L1 size, 4096 B")), HasSubstr("checksum"));
  EXPECT_THAT(refusal_of_recording(replaced(text, "0123456789abcdef", "0123456789abcdeg")), HasSubstr("checksum"));
  EXPECT_THAT(refusal_of_recording("{}"), HasSubstr("lacks 'schema'"));
  EXPECT_THAT(refusal_of_recording("[]"), HasSubstr("lacks 'schema'"));
  EXPECT_THAT(refusal_of_recording(std::string(100000, '[')), HasSubstr("nested too deeply"));
}

TEST(Recording, MadeBeforeInterruptionsWereRecordedStillOpens) {
  Recording quiet = example_recording();
  quiet.runs[1].trace.interruptions = {};
  const std::string text = to_text(quiet);
  EXPECT_THAT(text, HasSubstr("[\"0123456789abcdef\",\"l1 size, 4096 B\",\"+O\",\"gB,A;D,A,+sCCyW\"]"))
      << "a run of which nothing new is known is written as ever";
  const auto parsed = parse_recording(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->runs[1].trace.interruptions, program::Interruptions{});
}

// Whoever alters a file can alter its checksum too.
TEST(Recording, ThatContradictsItselfIsRefused) {
  const auto refusal_of = [](program::PhaseTrace phase) {
    Recording r = example_recording();
    r.runs[0].trace.phases = {std::move(phase)};
    return refusal_of_recording(to_text(r));
  };
  EXPECT_EQ(refusal_of({8, 0, {}, {}, {{38, 8}}}), "accepted");
  EXPECT_EQ(refusal_of({8, 0, {}, {}, {{38, 7}}}), "accepted")
      << "a lead isn't counted; the program says how long it is";
  EXPECT_THAT(refusal_of({8, 0, {}, {}, {{38, 9}}}), HasSubstr("run 0 ('l1 size, 4096 B') has a phase 0 with"));
  EXPECT_THAT(refusal_of({8, 0, {}, {}, {{38, 9}}}), HasSubstr("a histogram of more than its 8 loads"));
  EXPECT_THAT(refusal_of({8, 0, {}, {}, {{38, 8}, {39, 0}}}), HasSubstr("a histogram of more than its 8 loads"));
  EXPECT_THAT(refusal_of({8, 0, {}, {}, {{38, ~0ULL}, {39, 9}}}), HasSubstr("a histogram of more than its 8 loads"));
  EXPECT_THAT(refusal_of({8, 0, {1, 2, 3}, {}, {}}), HasSubstr("3 latencies, which are no lap of its 8 loads"));
  EXPECT_THAT(refusal_of({8, 0, {}, {1, 2, 3}, {}}), HasSubstr("3 laps, which don't divide its 8 loads"));
  EXPECT_THAT(refusal_of({8, 0, {1, 2}, {}, {{38, 8}}}), HasSubstr("several kinds of record"));
}

TEST(Recording, AFileThatIsNotThereIsNamed) {
  const auto loaded = load_recording("/nowhere/recording.json");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, Error::Kind::io);
  EXPECT_THAT(loaded.error().message, HasSubstr("/nowhere/recording.json"));
}

}  // namespace
}  // namespace gputopo::replay
