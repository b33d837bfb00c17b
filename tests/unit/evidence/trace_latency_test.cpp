#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;
using ::testing::HasSubstr;

Trace trace_of(std::vector<double> values) {
  return Trace{{{1, std::move(values)}}};
}

/// A clock that counts in `tick`; loads begin anywhere between two of them.
std::vector<double> timed(int loads, double latency, double jitter, double tick, Random& random) {
  std::vector<double> values;
  for (int i = 0; i < loads; ++i)
    values.push_back(std::floor((latency + jitter * (2 * random.uniform() - 1)) / tick + random.uniform()) * tick);
  return values;
}

TEST(Latency, IsTheMedianWithItsInterval) {
  Trace trace;
  for (int i = 0; i < 101; ++i) {
    trace.rows.push_back({1.0 + i, {100.0 + 37 * i % 101}});  // in no order of size: independent loads
  }
  const Estimate finding = find_latency(trace);
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, 150);
  // Order statistics 41 and 62 of 101.
  EXPECT_EQ(finding.interval->low, 140);
  EXPECT_EQ(finding.interval->high, 161);
  EXPECT_EQ(finding.samples, 101U);
  EXPECT_EQ(find_latency(Trace{{{1, {4, 8, 4, 8, 4, 8}}}}).value, 6)
      << "an even number of values has two in the middle";
}

TEST(Latency, OfTooFewLoadsForItsIntervalIsInconclusive) {
  std::vector<double> values;
  for (const std::size_t loads : {1, 2, 3, 4, 5, 6}) {
    values.push_back(40);
    const Estimate finding = find_latency(Trace{{{1, values}}});
    EXPECT_EQ(finding.status, loads < 6 ? Status::inconclusive : Status::measured) << loads;
    EXPECT_EQ(finding.note.empty(), loads == 6);
  }
}

TEST(Latency, OtherLevelsDontMoveIt) {
  Trace trace{{{1, std::vector<double>(80, 38)}, {2, std::vector<double>(20, 270)}}};
  Estimate finding = find_latency(trace);
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, 38);
  EXPECT_NEAR(*finding.confidence, 0.8, 1e-9);
  trace =
      Trace{{{1, std::vector<double>(40, 38)}, {2, std::vector<double>(35, 270)}, {3, std::vector<double>(25, 800)}}};
  finding = find_latency(trace);
  EXPECT_EQ(finding.status, Status::inconclusive);
  EXPECT_FALSE(finding.note.empty());
  EXPECT_EQ(find_latency({}).status, Status::inconclusive);
}

TEST(LatencyByACoarseClock, IsTheMeanOfItsReadings) {
  Random random(9);
  for (const double tick : {10.0, 17.0, 25.0, 41.67, 64.0}) {
    for (const double latency : {28.5, 60.0, 110.0}) {
      const Estimate said = find_latency(trace_of(timed(1000, latency, 1, tick, random)));
      ASSERT_EQ(said.status, Status::measured) << tick << ", " << latency << ": " << said.note;
      EXPECT_NEAR(*said.value, latency, 0.1 * tick) << tick;
      EXPECT_LE(said.interval->low, latency);
      EXPECT_GE(said.interval->high, latency);
      EXPECT_LE(said.interval->high - said.interval->low, (said.note.empty() ? 2.01 : 3.01) * tick);
      EXPECT_GE(said.interval->low, 0);
      EXPECT_EQ(said.confidence, 1) << "neighbouring readings are no levels";
    }
  }
}

TEST(LatencyByACoarseClock, LeavesOutTheMisses) {
  Random random(9);
  auto values = timed(300, 60, 1, 25, random);
  const auto misses = timed(60, 400, 1, 25, random);
  for (std::size_t i = 0; i < misses.size(); ++i) values.insert(values.begin() + static_cast<long>(5 * i), misses[i]);
  const Estimate said = find_latency(trace_of(values));
  EXPECT_NEAR(*said.value, 60, 5);
  EXPECT_NEAR(*said.confidence, 300.0 / 360, 1e-9);
}

TEST(LatencyByACoarseClock, IsUnknownWhereNoLoadTakesATick) {
  const Estimate said = find_latency(trace_of(std::vector<double>(100, 0)));
  EXPECT_EQ(said.status, Status::inconclusive);
  EXPECT_THAT(said.note, HasSubstr("clock"));
}

TEST(LatencyAlongTheFile, IntervalCoversWhatTheLevelWas) {
  Random random(9);
  const auto jitter = [&random] { return std::round(2 * random.uniform() - 1); };
  std::vector<double> rises, steps, swings;
  for (int i = 0; i < 200; ++i) {
    rises.push_back(90 + std::floor(27 * i / 200.0));
    steps.push_back((i < 50 ? 90 : 104) + jitter());
    swings.push_back((i / 40 % 2 == 0 ? 90 : 104) + jitter());
  }
  for (const auto& values : {rises, steps, swings}) {
    const Estimate said = find_latency(trace_of(values));
    ASSERT_EQ(said.status, Status::measured);
    EXPECT_LE(said.interval->low, 91);
    EXPECT_GE(said.interval->high, 103);
    EXPECT_THAT(said.note, HasSubstr("along the file"));
  }
}

TEST(LatencyAlongTheFile, IndependentLoadsKeepTheirInterval) {
  Random random(9);
  int wide = 0;
  for (int trace = 0; trace < 200; ++trace) {
    std::vector<double> values;
    for (int i = 0; i < 400; ++i) values.push_back(std::round(200 + 20 * random.uniform()));
    const Estimate said = find_latency(trace_of(values));
    EXPECT_EQ(said.note.empty(), said.interval->high - said.interval->low < 6) << said.note;
    wide += static_cast<int>(!said.note.empty());
  }
  EXPECT_LE(wide, 7) << "one in a hundred, and four standard errors";
}

TEST(LatencyAlongTheFile, AFirstLapIsNamedAndDoesntMoveIt) {
  std::vector<double> values(20, 270);
  values.resize(100, 38);
  const Estimate said = find_latency(trace_of(values));
  EXPECT_EQ(said.value, 38);
  EXPECT_LT(said.interval->high, 41);
  EXPECT_THAT(said.note, HasSubstr("other levels"));
  std::vector<double> spread;
  for (int i = 0; i < 100; ++i) spread.push_back(i % 5 == 0 ? 270 : 38);
  EXPECT_EQ(find_latency(trace_of(spread)).note, "");
}

}  // namespace
}  // namespace gputopo::evidence
