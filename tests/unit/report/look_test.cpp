// Colours: as plain text without their sequences, and no line that begins in another one's colour.
#include "report/look.hpp"

#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example.hpp"
#include "report/report.hpp"

namespace gputopo::report {
namespace {

using testing::HasSubstr;

std::string without_colors(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9]*m"), "");
}

std::string rendered(bool color, std::size_t width) {
  const Topology t = example();
  Options options;
  options.all = true;
  options.width = width;
  options.look.color = color;
  return render_table({&t, 1}, options);
}

TEST(Look, ColorsTakeNoRoom) {
  for (const std::size_t width : {40U, 80U, 200U}) {
    EXPECT_NE(rendered(true, width), rendered(false, width));
    EXPECT_EQ(without_colors(rendered(true, width)), rendered(false, width));
  }
}

TEST(Look, EachLineEndsItsColors) {
  std::istringstream lines(rendered(true, 80));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t last = line.rfind("\x1b[");
    if (last == std::string::npos) continue;
    EXPECT_EQ(line.substr(last, 4), "\x1b[0m") << line;
  }
}

TEST(Look, WhatIsntMeasuredHasATone) {
  const std::string text = rendered(true, 200);
  EXPECT_THAT(text, HasSubstr("\x1b[1mMemory\x1b[0m"));
  EXPECT_THAT(text, testing::ContainsRegex("\x1b\\[33m>=64 KiB"));
  EXPECT_THAT(text, testing::ContainsRegex("\x1b\\[2m60 MiB"));
}

TEST(Look, ItsOwnSequencesAreKnownAndNoOthers) {
  for (const Tone tone : {Tone::title, Tone::faint, Tone::doubtful, Tone::good, Tone::bad}) {
    const std::string text = painted("x", tone, {false, true});
    const std::size_t begin = color_length(text);
    EXPECT_EQ(text.substr(begin, 1), "x");
    EXPECT_EQ(begin + 1 + color_length(text.substr(begin + 1)), text.size());
  }
  for (const char* other :
       {"", "x", "\x1b", "\x1b[", "\x1b[2J", "\x1b[5m", "\x1b[31;5m", "\x1b]0;title\a", "\x1b[331m"})
    EXPECT_EQ(color_length(other), 0U) << other;
}

TEST(Look, PlainTextIsLeftAlone) {
  EXPECT_EQ(painted("text", Tone::bad, {}), "text");
  EXPECT_EQ(painted("text", Tone::plain, {false, true}), "text");
  EXPECT_EQ(painted("", Tone::bad, {false, true}), "");
  EXPECT_EQ(painted_lines("a\n\nb", Tone::good, {false, true}), "\x1b[32ma\x1b[0m\n\n\x1b[32mb\x1b[0m");
}

}  // namespace
}  // namespace gputopo::report
