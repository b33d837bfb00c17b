#include "change_point/trace_content.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::change_point {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<Row>;

/// Times at which `loads` loads of `latency` ended.
Row times(double control, int loads, double latency, double begin = 0) {
  Row row{control, {}};
  for (int i = 1; i <= loads; ++i) row.values.push_back(begin + latency * i);
  return row;
}

TEST(TraceContent, MicrosecondsAndSecondsAreNoCycles) {
  for (const double unit : {1e-3, 1e-9})
    EXPECT_THAT(why_no_latencies(Rows{{1024, {60 * unit, 61 * unit}}, {2048, {60 * unit, 170 * unit}}}),
                HasSubstr("below one"));
  EXPECT_EQ(why_no_latencies(Rows{{1024, {60, 61, 0}}, {2048, {60, 0.5}}}), "");
  EXPECT_EQ(why_no_latencies(Rows{{1024, {0, 0, 0, 0, 0, 64}}}), "") << "a coarse clock";
  EXPECT_EQ(why_no_latencies({}), "");
}

TEST(TraceContent, TimesOfLoadsAreNoLatencies) {
  EXPECT_THAT(why_no_latencies(Rows{times(1024, 8, 40), times(2048, 12, 40, 1e9)}), HasSubstr("above the one before"));
  Rows rows{times(1024, 8, 40), times(2048, 12, 40)};
  rows[1].values[5] = rows[1].values[4];
  EXPECT_EQ(why_no_latencies(rows), "") << "a load takes a cycle at least";
  EXPECT_EQ(why_no_latencies(Rows{times(1024, 8, 40)}), "") << "too few";
  EXPECT_EQ(why_no_latencies(Rows(40, Row{1024, {40, 240}})), "") << "columns that hold one thing each";
}

TEST(TraceContent, RowsOfOneValueAreASequence) {
  Rows rows;
  for (int i = 1; i <= 20; ++i) rows.push_back({static_cast<double>(i), {40.0 * i}});
  EXPECT_THAT(why_no_latencies_alone(rows), HasSubstr("above the one before"));
  for (int i = 0; i < 20; ++i) rows[static_cast<std::size_t>(i)].values = {90.0 + 0.5 * i};
  EXPECT_EQ(why_no_latencies_alone(rows), "") << "a drift rises by less than a cycle a load";
}

TEST(TraceContent, RowsThatBeginWithSizesHoldMoreThanLatencies) {
  Rows sizes;
  Rows lines;
  Rows laps;
  for (int i = 0; i < 10; ++i) {
    sizes.push_back({1, {1024.0 + 256 * i, 40, 41, 40}});
    lines.push_back({1, {i < 5 ? 32.0 : 64.0, 1024.0 + 256 * (i % 5), 40, 41, 40}});
    laps.push_back({1, {i % 3 == 0 ? 240.0 : 41, 40, 41, 40}});
  }
  EXPECT_THAT(why_no_latencies_alone(sizes), HasSubstr("sizes or strides"));
  EXPECT_THAT(why_no_latencies_alone(lines), HasSubstr("sizes or strides"));
  EXPECT_EQ(why_no_latencies_alone(laps), "");
  for (std::size_t i = 0; i < laps.size(); ++i)
    for (double& value : laps[i].values) value = 40 + 3 * static_cast<double>(i);
  EXPECT_EQ(why_no_latencies_alone(laps), "") << "a drift: the last ones rise as well";
  sizes.resize(7);
  EXPECT_EQ(why_no_latencies_alone(sizes), "") << "too few rows";
}

}  // namespace
}  // namespace gputopo::change_point
