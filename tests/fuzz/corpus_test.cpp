// The fuzzer's seeds (and what it found) through the same check, in every build.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "trace_parser_check.hpp"

namespace gputopo::change_point {
namespace {

TEST(FuzzCorpus, TraceParserHoldsForEverySeed) {
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUTOPO_SOURCE_DIR "/tests/fuzz/corpus/trace_parser")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_FALSE(bytes.empty()) << entry.path();
    testing::check_trace_parser(bytes.data(), bytes.size());
    // Every way to read the same text, and in every length of pieces.
    for (unsigned first = 0; first < 120; ++first) {
      auto other = bytes;
      other[0] = static_cast<std::uint8_t>(first);
      testing::check_trace_parser(other.data(), other.size());
    }
    ++seeds;
  }
  EXPECT_GE(seeds, 10U);
}

}  // namespace
}  // namespace gputopo::change_point
