#include <string>

#include <gtest/gtest.h>

#include "evidence/traces/traces.hpp"
#include "recorded_trace.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

using change_point::testing::recorded_trace;

struct Truth {
  std::string trace;
  Status status;
  double value;
};

void PrintTo(const Truth& truth, std::ostream* out) {
  *out << truth.trace;
}

class TruthTable : public ::testing::TestWithParam<Truth> {};

TEST_P(TruthTable, SizeIsExact) {
  const Truth& truth = GetParam();
  const Trace trace = recorded_trace(truth.trace + "-size.csv");
  ASSERT_FALSE(trace.rows.empty()) << truth.trace;
  const Estimate finding = find_size(trace, {});
  EXPECT_EQ(finding.status, truth.status);
  if (truth.status == Status::measured) {
    EXPECT_EQ(finding.value, truth.value);
    EXPECT_LE(finding.interval->low, truth.value);
    EXPECT_GE(finding.interval->high, truth.value);
    EXPECT_GT(*finding.confidence, 0);
  } else if (truth.status == Status::lower_bound) {
    EXPECT_EQ(finding.value, truth.value);
    EXPECT_FALSE(finding.interval);
    EXPECT_GT(*finding.confidence, 0.95);
  } else {
    EXPECT_EQ(finding.value, trace.rows.front().control);
  }
}

INSTANTIATE_TEST_SUITE_P(
    RealGpus, TruthTable,
    ::testing::Values(
        Truth{"p6000/l1", Status::measured, 24576}, Truth{"p6000/texture", Status::measured, 24576},
        Truth{"p6000/read_only", Status::measured, 24576}, Truth{"p6000/constant_l1", Status::measured, 2048},
        Truth{"v100/constant_l1", Status::measured, 2048}, Truth{"h100-nvl/constant_l1", Status::measured, 2048},
        Truth{"p6000/constant_l1_5", Status::measured, 31488}, Truth{"v100/l1", Status::measured, 117760},
        Truth{"v100/read_only", Status::measured, 117760}, Truth{"h100-nvl/constant_l1_5", Status::lower_bound, 64512},
        Truth{"v100/constant_l1_5", Status::lower_bound, 64512}, Truth{"mi210/l1", Status::measured, 16384},
        Truth{"mi210/scalar_l1", Status::upper_bound, 0}),
    [](const auto& test) {
      std::string name = test.param.trace;
      for (char& c : name) {
        c = c == '/' || c == '-' ? '_' : c;
      }
      return name;
    });

TEST(RecordedL2, OnsetIsTheLastRowBeforeFarMisses) {
  const Estimate finding = find_size(recorded_trace("h100-nvl/l2-segment_size.csv"), {});
  EXPECT_EQ(finding.status, Status::measured);
  EXPECT_EQ(finding.value, 31498496);
  EXPECT_LT(*finding.confidence, 0.5) << "pages were dealt anew for every size; the data doesn't support more";
}

}  // namespace
}  // namespace gputopo::evidence
