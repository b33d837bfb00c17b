#include "change_point/trace_parser.hpp"

#include <string>

#include <gtest/gtest.h>

namespace gputopo::change_point {
namespace {

struct Outcome {
  std::optional<ParseError> error;
  Trace trace;
};

Outcome parse(std::string_view text, Columns columns = Columns::control, std::size_t piece = 1 << 20,
              const ParseLimits& limits = {}) {
  TraceParser parser(columns, limits);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (parser.feed(text.substr(at, piece))) {
      break;
    }
  }
  Outcome outcome;
  outcome.error = parser.finish();
  outcome.trace = parser.take_trace();
  return outcome;
}

void expect_error(std::string_view text, std::uint64_t line, const std::string& part,
                  Columns columns = Columns::control) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    const Outcome outcome = parse(text, columns, piece);
    ASSERT_TRUE(outcome.error) << text;
    EXPECT_EQ(outcome.error->line, line) << text;
    EXPECT_NE(outcome.error->reason.find(part), std::string::npos) << outcome.error->reason;
    EXPECT_EQ(outcome.error->reason.find('\n'), std::string::npos);
  }
}

TEST(TraceParser, ReadsRowsOfDifferentLength) {
  for (const std::size_t piece : {1, 2, 7, 1000}) {
    const Outcome outcome = parse("1024,38,39.5\n2048,40\n4096,1e2,+7, 8 ,9\n", Columns::control, piece);
    ASSERT_FALSE(outcome.error) << outcome.error->reason;
    ASSERT_EQ(outcome.trace.rows.size(), 3U);
    EXPECT_EQ(outcome.trace.rows[0].control, 1024);
    EXPECT_EQ(outcome.trace.rows[0].values, (std::vector<double>{38, 39.5}));
    EXPECT_EQ(outcome.trace.rows[1].values, (std::vector<double>{40}));
    EXPECT_EQ(outcome.trace.rows[2].values, (std::vector<double>{100, 7, 8, 9}));
  }
}

TEST(TraceParser, TakesCarriageReturnsMissingLastNewlineAndTrailingComma) {
  for (const std::size_t piece : {1, 2, 5, 1000}) {
    const Outcome outcome = parse(
        "\xEF\xBB\xBF"
        "64,1,2,\r\n128,3\r\n256,4,5",
        Columns::control, piece);
    ASSERT_FALSE(outcome.error) << outcome.error->reason;
    ASSERT_EQ(outcome.trace.rows.size(), 3U);
    EXPECT_EQ(outcome.trace.rows[0].control, 64);
    EXPECT_EQ(outcome.trace.rows[0].values.size(), 2U);
    EXPECT_EQ(outcome.trace.rows[2].values, (std::vector<double>{4, 5}));
  }
}

TEST(TraceParser, LetsEmptyRowsAtTheEndPass) {
  EXPECT_FALSE(parse("64,1\n128,2\n\n\r\n \n").error);
}

TEST(TraceParser, LetsAFirstLineOfTitlesPass) {
  for (const std::string titles :
       {"size,latency", "\"size in B\",1,2,3", "Size (B), cycles,", "\xEF\xBB\xBFsize,x\r"}) {
    const Outcome whole = parse(titles + "\n64,1\n128,2,3\n");
    ASSERT_FALSE(whole.error) << titles;
    ASSERT_EQ(whole.trace.rows.size(), 2U) << titles;
    const Trace bytewise = parse(titles + "\n64,1\n128,2,3\n", Columns::control, 1).trace;
    ASSERT_EQ(bytewise.rows.size(), 2U) << titles;
    EXPECT_EQ(bytewise.rows[0].control, 64);
    EXPECT_EQ(bytewise.rows[1].values, (std::vector<double>{2, 3}));
  }
}

TEST(TraceParser, ReadsLatenciesAlone) {
  const Outcome outcome = parse("38\n39\n38", Columns::none);
  ASSERT_FALSE(outcome.error);
  ASSERT_EQ(outcome.trace.rows.size(), 3U);
  EXPECT_EQ(outcome.trace.rows[2].control, 3);
  EXPECT_EQ(outcome.trace.rows[2].values, (std::vector<double>{38}));
}

TEST(TraceParser, GroupsSweepsByStride) {
  TraceParser parser(Columns::stride_and_size);
  ASSERT_FALSE(parser.feed("64,1024,5\n32,1024,6\n32,2048,7,8\n"));
  ASSERT_FALSE(parser.finish());
  const auto sweeps = parser.take_sweeps();
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0].stride_bytes, 32);
  ASSERT_EQ(sweeps[0].trace.rows.size(), 2U);
  EXPECT_EQ(sweeps[0].trace.rows[1].control, 2048);
  EXPECT_EQ(sweeps[0].trace.rows[1].values, (std::vector<double>{7, 8}));
  EXPECT_EQ(sweeps[1].stride_bytes, 64);
}

TEST(TraceParser, NamesLineAndReason) {
  expect_error("64,1\n128,abc\n", 2, "'abc' is not a number");
  expect_error("64,latency\n64,1\n", 1, "'latency' is not a number");
  expect_error("64,1\nsize,latency\n", 2, "'size' is not a number");
  expect_error("-size,latency\n64,1\n", 1, "'-size' is not a number");
  expect_error("nan,latency\n64,1\n", 1, "NaN");
  expect_error("size,latency\n", 0, "there are no rows");
  expect_error("64,1\n128,0x1F\n", 2, "is not a number");
  expect_error("64,1\n128,--1\n", 2, "is not a number");
  expect_error("64,1\n128,+-1\n", 2, "is not a number");
  expect_error("64,1\n128,3 4\n", 2, "is not a number");
  expect_error("64,1\n128,nan\n", 2, "NaN");
  expect_error("64,inf\n", 1, "infinity");
  expect_error("64,1e999\n", 1, "out of range");
  expect_error("64,1\n128,-2\n", 2, "negative");
  expect_error("64,1\n0,2\n", 2, "positive");
  expect_error("64,1\n-64,2\n", 2, "positive");
  expect_error("64,1\n\n128,2\n", 2, "empty row");
  expect_error("64,1\n\r\n\r\n128,2\n", 2, "empty row");
  expect_error("64,1\n128,,2\n", 2, "empty field");
  expect_error("64,1\n,,\n", 2, "empty field");
  expect_error("64,1\n,\n", 2, "empty field");
  expect_error("64,1\n128\n", 2, "no latencies");
  expect_error("64,128\n", 1, "no latencies", Columns::stride_and_size);
  expect_error("", 0, "no rows");
  expect_error("\n\n", 0, "no rows");
  expect_error(std::string("64,1\n128,\0\n", 11), 2, "is not a number");
  expect_error("64,1\r128,2\n", 1, "is not a number");
}

TEST(TraceParser, HidesControlCharactersOfTheInput) {
  const Outcome outcome = parse("64,\x1b[31mred\n");
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->reason.find('\x1b'), std::string::npos);
}

TEST(TraceParser, StopsEarlyOnOneEndlessLine) {
  // Ten gigabytes of one line, in pieces, without ever holding more than one of them.
  const std::string commas = [] {
    std::string text;
    for (int i = 0; i < 1 << 18; ++i) {
      text += "38,";
    }
    return text;
  }();
  const std::string digits(1 << 20, '7');
  const std::string blanks(1 << 20, ' ');
  for (const std::string& piece : {commas, digits, blanks}) {
    TraceParser parser(Columns::control);
    std::uint64_t fed = 0;
    std::optional<ParseError> error;
    while (!error && fed < 10'000'000'000ULL) {
      error = parser.feed(piece);
      fed += piece.size();
    }
    ASSERT_TRUE(error);
    EXPECT_EQ(error->line, 1U);
    EXPECT_LE(fed, 20'000'000U) << error->reason;
  }
}

TEST(TraceParser, KeepsItsLimits) {
  ParseLimits limits;
  limits.rows = 2;
  limits.values = 4;
  EXPECT_FALSE(parse("1,1\n2,1\n", Columns::control, 100, limits).error);
  EXPECT_EQ(parse("1,1\n2,1\n3,1\n", Columns::control, 100, limits).error->line, 3U);
  EXPECT_EQ(parse("1,1\n2,1,2,3,4\n", Columns::control, 100, limits).error->line, 2U);
  limits = {};
  limits.line_bytes = 8;
  EXPECT_FALSE(parse("1,22,333\n", Columns::control, 100, limits).error);
  EXPECT_TRUE(parse("1,22,3333\n", Columns::control, 100, limits).error);
  EXPECT_TRUE(parse(std::string(2000, '\n'), Columns::control, 100, {}).error);
}

TEST(TraceParser, RepeatsTheFirstError) {
  TraceParser parser(Columns::control);
  const auto first = parser.feed("?,1\n");
  ASSERT_TRUE(first);
  const auto second = parser.feed("64,1\n");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->reason, first->reason);
  EXPECT_EQ(parser.finish()->line, 1U);
}

}  // namespace
}  // namespace gputopo::change_point
