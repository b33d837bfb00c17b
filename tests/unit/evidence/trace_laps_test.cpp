#include "evidence/traces/trace_laps.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

using change_point::Observation;
using change_point::Trace;

TEST(TraceLaps, KnowsWholeLapsFromTheRowsLengths) {
  const auto law_of = [](double loads_a_line, double dropped, double most) {
    Trace trace;
    std::vector<Observation> rows;
    for (int lines = 20; lines <= 60; ++lines) {
      const double loads = std::min(most, loads_a_line * lines - dropped);
      trace.rows.push_back({64.0 * lines, std::vector<double>(static_cast<std::size_t>(loads), 40)});
      rows.push_back({64.0 * lines, loads, 0});
    }
    return sweep_of(trace, rows, 200);
  };
  EXPECT_TRUE(law_of(1, 0, 1e9).whole_laps);
  EXPECT_DOUBLE_EQ(law_of(1, 0, 1e9).line_bytes, 64);
  EXPECT_DOUBLE_EQ(law_of(2, 0, 1e9).line_bytes, 32);
  EXPECT_TRUE(law_of(1, 1, 1e9).whole_laps);
  EXPECT_NEAR(law_of(1, 1, 1e9).dropped_loads, 1, 1e-9);
  EXPECT_FALSE(law_of(1, 0, 40).whole_laps) << "rows that stop after a fixed number of loads";
  EXPECT_LT(law_of(1, 0, 1e9).saturation, 0) << "no misses to judge by";
}

TEST(TraceLaps, KnowsSaturationFromTheGapsBetweenMisses) {
  const auto saturation_of = [](std::size_t every) {
    Trace trace{{{64, std::vector<double>(64, 40)}, {128, std::vector<double>(128, 40)}}};
    for (std::size_t i = 0; i < 128; i += every) {
      trace.rows[1].values[i] = 240;
    }
    const std::vector<Observation> rows = {{64, 64, 0}, {128, 128, 128.0 / static_cast<double>(every)}};
    return sweep_of(trace, rows, 200).saturation;
  };
  EXPECT_DOUBLE_EQ(saturation_of(1), 1);
  EXPECT_DOUBLE_EQ(saturation_of(2), 0.5);
  EXPECT_DOUBLE_EQ(saturation_of(8), 0.125);
  EXPECT_LT(saturation_of(64), 0) << "two misses tell nothing";
}

// One load in a hundred is slow whatever it loads.
TEST(TraceLaps, KnowsSaturationBesideStrangers) {
  Trace trace{{{1024, std::vector<double>(256, 40)}, {4096, std::vector<double>(1024, 40)}}};
  for (std::size_t i = 0; i < 1024; i += 16) trace.rows[1].values[i] = 240;
  for (std::size_t i = 0; i < 1024; i += 97) trace.rows[1].values[i] = 300;
  const std::vector<Observation> rows = {{1024, 256, 0}, {4096, 1024, 74}};
  EXPECT_DOUBLE_EQ(sweep_of(trace, rows, 200).saturation, 1.0 / 16);
}

}  // namespace
}  // namespace gputopo::evidence
