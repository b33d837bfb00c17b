#include <map>
#include <string>

#include <gtest/gtest.h>

#include "evidence/traces/traces.hpp"
#include "recorded_trace.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

using change_point::testing::recorded_trace;

struct Quantity {
  std::string trace;
  double value;
};

void PrintTo(const Quantity& quantity, std::ostream* out) {
  *out << quantity.trace;
}

std::string test_name(std::string name) {
  for (char& c : name) {
    c = c == '/' || c == '-' ? '_' : c;
  }
  return name;
}

std::vector<StrideSweep> recorded_sweeps(const std::string& name) {
  std::map<double, StrideSweep> sweeps;
  for (Row& row : recorded_trace(name).rows) {
    StrideSweep& sweep = sweeps[row.control];
    sweep.stride_bytes = row.control;
    const double footprint = row.values.front();
    row.values.erase(row.values.begin());
    sweep.trace.rows.push_back({footprint, std::move(row.values)});
  }
  std::vector<StrideSweep> list;
  for (auto& [stride, sweep] : sweeps) {
    list.push_back(std::move(sweep));
  }
  return list;
}

class LineSize : public ::testing::TestWithParam<Quantity> {};

TEST_P(LineSize, IsExact) {
  const Estimate finding = find_line_size(recorded_sweeps(GetParam().trace + "-line_size.csv"));
  EXPECT_EQ(finding.status, Status::measured) << finding.note;
  EXPECT_EQ(finding.value, GetParam().value);
  EXPECT_LE(finding.interval->low, finding.value);
  EXPECT_GE(finding.interval->high, finding.value);
}

INSTANTIATE_TEST_SUITE_P(RealGpus, LineSize,
                         ::testing::Values(Quantity{"h100-nvl/l1", 128}, Quantity{"h100-nvl/read_only", 128},
                                           Quantity{"h100-nvl/texture", 128}, Quantity{"h100-nvl/constant_l1", 64},
                                           Quantity{"v100/l1", 128}, Quantity{"v100/read_only", 128},
                                           Quantity{"v100/texture", 128}, Quantity{"v100/constant_l1", 64},
                                           Quantity{"p6000/l1", 128}, Quantity{"p6000/read_only", 128},
                                           Quantity{"p6000/texture", 128}, Quantity{"p6000/constant_l1", 64},
                                           Quantity{"p6000/constant_l1_5", 256}, Quantity{"mi210/l1", 64},
                                           Quantity{"mi210/scalar_l1", 64}),
                         [](const auto& test) { return test_name(test.param.trace); });

class FetchGranularity : public ::testing::TestWithParam<Quantity> {};

TEST_P(FetchGranularity, IsExact) {
  const Estimate finding = find_fetch_granularity(recorded_trace(GetParam().trace + "-fetch_granularity.csv"));
  EXPECT_EQ(finding.status, Status::measured) << finding.note;
  EXPECT_EQ(finding.value, GetParam().value);
  EXPECT_GT(*finding.confidence, 0.5);
}

INSTANTIATE_TEST_SUITE_P(
    RealGpus, FetchGranularity,
    ::testing::Values(Quantity{"h100-nvl/l1", 32}, Quantity{"h100-nvl/l2", 32}, Quantity{"h100-nvl/texture", 32},
                      Quantity{"h100-nvl/read_only", 32}, Quantity{"h100-nvl/constant_l1", 64},
                      Quantity{"h100-nvl/constant_l1_5", 256}, Quantity{"v100/l1", 32}, Quantity{"v100/l2", 32},
                      Quantity{"v100/texture", 32}, Quantity{"v100/read_only", 32}, Quantity{"v100/constant_l1", 64},
                      Quantity{"v100/constant_l1_5", 256}, Quantity{"p6000/l1", 32}, Quantity{"p6000/l2", 32},
                      Quantity{"p6000/texture", 32}, Quantity{"p6000/read_only", 32}, Quantity{"p6000/constant_l1", 64},
                      Quantity{"p6000/constant_l1_5", 256}, Quantity{"mi210/l1", 64}, Quantity{"mi210/l2", 64},
                      Quantity{"mi210/scalar_l1", 64}),
    [](const auto& test) { return test_name(test.param.trace); });

TEST(RecordedLatency, IsTheLevelsOwn) {
  const std::map<std::string, double> expected = {{"h100-nvl/l1", 38},
                                                  {"h100-nvl/constant_l1", 17},
                                                  {"h100-nvl/constant_l1_5", 106},
                                                  {"v100/l1", 30},
                                                  {"mi210/l1", 124},
                                                  {"p6000/l1", 90}};
  for (const auto& [name, cycles] : expected) {
    Trace trace = recorded_trace(name + "-latency.csv");
    for (Row& row : trace.rows) {
      row.values = {row.control};
    }
    const Estimate finding = find_latency(trace);
    EXPECT_EQ(finding.status, Status::measured) << name;
    EXPECT_EQ(finding.value, cycles) << name;
  }
}

}  // namespace
}  // namespace gputopo::evidence
