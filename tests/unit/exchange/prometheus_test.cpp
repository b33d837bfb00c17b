#include "exchange/prometheus.hpp"

#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::exchange {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Topology sample() {
  Topology t;
  t.gpu.name = "NVIDIA Sample";
  t.gpu.uuid = "GPU-1";
  t.gpu.sm_count = 4;
  t.provenance.created = "2026-11-22T05:15:56Z";
  Memory l2;
  l2.id = "l2";
  Estimate latency;
  latency.value = 280.5;
  latency.unit = "cycles";
  latency.status = Status::measured;
  latency.interval = Interval{278, 282};
  l2.attributes["latency"] = latency;
  t.memories.push_back(l2);
  return t;
}

std::string exported_text(const std::vector<Topology>& gpus) {
  const auto text = prometheus_text(gpus);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or(std::string());
}

std::string text_with(Status status) {
  Topology t = sample();
  t.memories.front().attributes["latency"].status = status;
  return exported_text({t});
}

TEST(Prometheus, AValueStandsBetweenTheEndsOfItsInterval) {
  const std::string text = text_with(Status::measured);
  const std::string labels = R"({uuid="GPU-1",model="NVIDIA Sample",memory="l2",status="measured"} )";
  EXPECT_THAT(text, HasSubstr("# TYPE gputopo_memory_latency_cycles gauge\n"));
  EXPECT_THAT(text, HasSubstr("\ngputopo_memory_latency_cycles" + labels + "280.5\n"));
  EXPECT_THAT(text, HasSubstr("\ngputopo_memory_latency_cycles_low" + labels + "278\n"));
  EXPECT_THAT(text, HasSubstr("\ngputopo_memory_latency_cycles_high" + labels + "282\n"));
  EXPECT_THAT(text,
              HasSubstr("gputopo_measured_timestamp_seconds{uuid=\"GPU-1\",model=\"NVIDIA Sample\"} 1795324556\n"));
}

TEST(Prometheus, ABoundHasTheEndThatItKnows) {
  const std::string lower = text_with(Status::lower_bound);
  EXPECT_THAT(lower, HasSubstr("gputopo_memory_latency_cycles_low{"));
  EXPECT_THAT(lower, Not(HasSubstr("gputopo_memory_latency_cycles{")));
  EXPECT_THAT(lower, Not(HasSubstr("gputopo_memory_latency_cycles_high{")));
  const std::string upper = text_with(Status::upper_bound);
  EXPECT_THAT(upper, HasSubstr("gputopo_memory_latency_cycles_high{"));
  EXPECT_THAT(upper, Not(HasSubstr("gputopo_memory_latency_cycles_low{")));
}

TEST(Prometheus, WhatIsNotDecidedIsOnlyCounted) {
  const std::string text = text_with(Status::inconclusive);
  EXPECT_THAT(text, Not(HasSubstr("latency")));
  EXPECT_THAT(text, HasSubstr("gputopo_gpu_undecided_attributes{uuid=\"GPU-1\",model=\"NVIDIA Sample\"} 1\n"));
}

TEST(Prometheus, SamplesOfOneMetricStandTogetherAndItsTitleOnce) {
  Topology other = sample();
  other.gpu.uuid = "GPU-2";
  std::istringstream lines(exported_text({sample(), other}));
  std::vector<std::string> titles;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) titles.push_back(line.substr(7, line.find(' ', 7) - 7));
    if (line.starts_with('#')) continue;
    EXPECT_EQ(line.substr(0, line.find('{')), titles.back());
  }
  auto sorted = titles;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
}

TEST(Prometheus, ASimulatedGpuIsAModelOfItsOwn) {
  Topology t = sample();
  t.provenance.simulated = true;
  EXPECT_THAT(exported_text({t}), HasSubstr("model=\"NVIDIA Sample (simulated)\""));
}

TEST(Prometheus, LabelsAreEscaped) {
  Topology t = sample();
  t.gpu.name = "a\"b\\c\nd";
  EXPECT_THAT(exported_text({t}), HasSubstr(R"(model="a\"b\\c\nd")"));
}

TEST(Prometheus, TheSameGpuTwiceIsRefused) {
  const std::vector<Topology> twice{sample(), sample()};
  const auto text = prometheus_text(twice);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("GPU-1 twice"));
}

TEST(Prometheus, PartsOfTheChipHaveTheirSize) {
  Topology t = sample();
  t.sm_places = {{0, {}, {}, {}, 0}, {1, {}, {}, {}, 0}, {2, {}, {}, {}, 1}};
  EXPECT_THAT(exported_text({t}), HasSubstr("part=\"l2_partition\",group=\"0\"} 2\n"));
}

}  // namespace
}  // namespace gputopo::exchange
