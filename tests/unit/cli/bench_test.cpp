// `gputopo bench` as a user runs it.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"

namespace gputopo::cli {
namespace {

using testing::HasSubstr;

TEST(Bench, ListsWhatThereIs) {
  const auto run = run_gputopo({"bench", "--list"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* name : {"bandwidth", "in_flight", "requests", "banks", "atomics", "sides", "placement",
                           "instructions", "spilling", "clusters", "histogram", "traffic"})
    EXPECT_THAT(run.out, HasSubstr(name));
}

TEST(Bench, GivesFindingsWithUnitMethodAndRange) {
  const auto run = run_gputopo({"bench", "banks", "atomics", "--device", "sim:h200", "--quiet", "--format", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report.at("schema"), "gputopo-bench/1");
  EXPECT_EQ(report.at("interrupted"), false);
  ASSERT_EQ(report.at("results").size(), 2U);
  const nlohmann::json& banks = report.at("results").at(0);
  EXPECT_EQ(banks.at("findings").at(0).at("quantity"), "banks");
  EXPECT_EQ(banks.at("findings").at(0).at("value"), 32);
  EXPECT_EQ(banks.at("plots").at(0).at("series").at(0).at("points").size(), 32U);
  for (const nlohmann::json& finding : report.at("results").at(1).at("findings")) {
    EXPECT_EQ(finding.at("unit"), "1/cycle");
    EXPECT_EQ(finding.at("interval_kind"), "range");
    EXPECT_FALSE(finding.at("configuration").get<std::string>().empty());
  }
}

TEST(Bench, SaysInOneLineThatAModelHasNoThroughput) {
  const auto run = run_gputopo({"bench", "--device", "sim:fermi", "--quiet"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("no throughput in this model"));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
}

TEST(Bench, FitsEightyColumns) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"bench", "--list"}, {"bench", "instructions", "banks", "--device", "sim:h200", "--all"}}) {
    const auto run = run_gputopo(arguments);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("\n    "));
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(Bench, RefusesNamesThatItDoesntKnow) {
  const auto run = run_gputopo({"bench", "speed"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("choose from bandwidth"));
}

TEST(Bench, PageHasItsCurves) {
  const auto run = run_gputopo({"bench", "banks", "--device", "sim:h200", "--quiet", "--format", "html"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("<polyline"));
  EXPECT_THAT(run.out, HasSubstr("Bank conflicts"));
}

TEST(Bench, PredictsTrafficOfAStoredTopologyAndOfAModel) {
  const std::string file = std::string(GPUTOPO_SOURCE_DIR) + "/tests/fixtures/h200/topology.json";
  const auto stored =
      run_gputopo({"bench", "traffic", "--predict", "1,16", "--size", "200000000", file, "--format", "json"});
  ASSERT_EQ(stored.exit_code, 0) << stored.err;
  const nlohmann::json answer = nlohmann::json::parse(stored.out);
  EXPECT_EQ(answer.at("status"), "predicted");
  EXPECT_EQ(answer.at("strides").at(0).at("read_bytes"), 400e6);
  EXPECT_EQ(answer.at("strides").at(1).at("read_bytes"), 500e6);
  EXPECT_EQ(answer.at("strides").at(1).at("written_bytes"), 100e6);
  const auto model =
      run_gputopo({"bench", "traffic", "--predict", "16", "--size", "400000000", "--device", "sim:p6000"});
  EXPECT_EQ(model.exit_code, 0);
  EXPECT_THAT(model.out, HasSubstr("600"));
  EXPECT_THAT(model.out, HasSubstr("fetch granularity of 32 B"));
}

TEST(Bench, PredictionsThatMakeNoSenseAreUsageErrors) {
  const std::vector<std::vector<std::string>> mistakes{{"bench", "traffic", "--size", "4"},
                                                       {"bench", "traffic", "--predict", "0", "--size", "4"},
                                                       {"bench", "traffic", "--predict", "1"},
                                                       {"bench", "banks", "--predict", "1", "--size", "4"},
                                                       {"bench", "traffic", "--predict", "1", "--size", "-4"}};
  for (const auto& mistake : mistakes) {
    const auto run = run_gputopo(mistake);
    EXPECT_EQ(run.exit_code, 2) << testing::PrintToString(mistake);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace gputopo::cli
