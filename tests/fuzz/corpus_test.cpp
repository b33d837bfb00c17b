// The fuzzer's seeds (and what it found) through the same check, in every build.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "device/replay/recording.hpp"
#include "evidence_check.hpp"
#include "hwloc_xml_check.hpp"
#include "model_check.hpp"
#include "recording_check.hpp"
#include "topology/evidence.hpp"
#include "trace_parser_check.hpp"

namespace gputopo::change_point {
namespace {

TEST(FuzzCorpus, TraceParserHoldsForEverySeed) {
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/trace_parser")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_FALSE(bytes.empty()) << entry.path();
    testing::check_trace_parser(bytes);
    // Every way to read the same text, and in every length of pieces.
    for (unsigned first = 0; first < 120; ++first) {
      auto other = bytes;
      other[0] = static_cast<char>(first);
      testing::check_trace_parser(other);
    }
    ++seeds;
  }
  EXPECT_GE(seeds, 10U);
}

// How many files of a folder of seeds went through their check.
std::size_t checked(const char* folder, void (*check)(std::string_view)) {
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    check(std::string{std::istreambuf_iterator<char>(file), {}});
    ++seeds;
  }
  return seeds;
}

TEST(FuzzCorpus, EveryModelIsReadOrRefused) {
  EXPECT_GE(checked(GPUTOPO_SOURCE_DIR "/probes/models", fuzz::check_model), 10U);
}

TEST(FuzzCorpus, EveryRecordingIsReadOrRefused) {
  EXPECT_GE(checked(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/recording", fuzz::check_recording), 5U);
}

// With a seal that doesn't fit, the fuzzer would see nothing but refusals of altered files.
TEST(FuzzCorpus, TheSealOfARecordingFits) {
  checked(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/recording", [](std::string_view text) {
    const auto sealed = replay::parse_recording(fuzz::sealed_recording(text));
    EXPECT_TRUE(sealed.has_value()) << (sealed ? "" : sealed.error().message) << text.substr(0, 400);
  });
}

TEST(FuzzCorpus, EvidenceIsReadOrRefused) {
  EXPECT_GE(checked(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/evidence", fuzz::check_evidence), 4U);
}

TEST(FuzzCorpus, TheSealOfEvidenceFits) {
  checked(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/evidence", [](std::string_view text) {
    const auto sealed = parse_evidence(fuzz::sealed_evidence(text));
    EXPECT_TRUE(sealed.has_value()) << (sealed ? "" : sealed.error().message) << text.substr(0, 400);
  });
}

TEST(FuzzCorpus, HwlocReadsEveryXmlAndSoDoWe) {
  EXPECT_GE(checked(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/hwloc_xml", fuzz::check_hwloc_xml), 4U);
}

}  // namespace
}  // namespace gputopo::change_point
