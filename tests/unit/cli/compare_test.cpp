#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"

namespace gputopo::cli {
namespace {

using ::testing::HasSubstr;

// Two H200s, one of which lacks an SM.
class CompareCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    auto topology = nlohmann::ordered_json::parse(run_gputopo({"models", "--truth", "h200", "--format", "json"}).out);
    std::ofstream(whole_) << topology;
    topology.erase("checksum");
    topology["gpu"]["sm_count"] = 131;
    std::ofstream(one_less_) << topology;
  }
  const Folder folder_;
  const std::string whole_ = folder_ / "whole.json";
  const std::string one_less_ = folder_ / "less.json";
};

TEST_F(CompareCommand, Exits3WhereSomethingDiffers) {
  const Outcome o = run_gputopo({"compare", whole_, one_less_});
  EXPECT_EQ(o.exit_code, 3) << o.err;
  EXPECT_THAT(o.out, HasSubstr("SMs   132    0\n"
                               "      131    1\n"));
}

TEST_F(CompareCommand, Exits0WhereNothingDoes) {
  EXPECT_EQ(run_gputopo({"compare", whole_, whole_}).exit_code, 0);
  EXPECT_EQ(run_gputopo({"compare", "--ignore", "gpu.sm_count", whole_, one_less_}).exit_code, 0);
}

TEST_F(CompareCommand, WritesJson) {
  const Outcome o = run_gputopo({"compare", whole_, one_less_, "--format", "json", "-o", folder_ / "out.json"});
  EXPECT_EQ(o.exit_code, 3) << o.err;
  EXPECT_EQ(nlohmann::json::parse(contents(folder_ / "out.json"))["differences"][0]["quantity"], "gpu.sm_count");
}

TEST_F(CompareCommand, NeedsTwoTopologies) {
  const Outcome one = run_gputopo({"compare", whole_});
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(one.err)) << one.err;
  std::ofstream(folder_ / "no.json") << "{}";
  const Outcome no_topology = run_gputopo({"compare", whole_, folder_ / "no.json"});
  EXPECT_EQ(no_topology.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(no_topology.err)) << no_topology.err;
  EXPECT_EQ(run_gputopo({"compare", whole_, whole_, "--format", "html"}).exit_code, 2);
}

TEST_F(CompareCommand, TakesPercentAlone) {
  for (const char* no_percent : {"nan", "-1", "inf", "0x10", "101", "5%", ""}) {
    const Outcome o = run_gputopo({"compare", whole_, whole_, "--tolerance", no_percent});
    EXPECT_EQ(o.exit_code, 2) << no_percent;
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  }
  EXPECT_EQ(run_gputopo({"compare", whole_, whole_, "--tolerance", "010"}).exit_code, 0);
}

}  // namespace
}  // namespace gputopo::cli
