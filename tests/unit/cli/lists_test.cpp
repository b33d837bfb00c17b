#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using ::testing::HasSubstr;

TEST(Devices, ListsTheModelsAndSaysWhyThereIsNoGpu) {
  const Outcome o = run_gputopo({"devices"});
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.out, HasSubstr("sim:h200"));
  const auto list = nlohmann::json::parse(run_gputopo({"devices", "--format", "json"}).out);
  bool any_real = false;
  for (const auto& device : list) any_real = any_real || !device["simulated"].get<bool>();
  EXPECT_EQ(any_real, o.out.find("No real GPU: ") == std::string::npos);
}

TEST(Models, EveryModelHasItsTruth) {
  const auto list = nlohmann::json::parse(run_gputopo({"models", "--format", "json"}).out);
  ASSERT_GE(list.size(), 4U);
  for (const auto& model : list) {
    const auto name = model["model"].get<std::string>();
    const Outcome o = run_gputopo({"models", "--truth", name, "--format", "json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto topology = parse_topology(o.out);
    ASSERT_TRUE(topology) << topology.error().message;
    EXPECT_EQ(topology->gpu.name, model["gpu"].get<std::string>());
    EXPECT_FALSE(model["sources"].empty()) << name;
  }
}

TEST(Models, AModelFileWorksAsItsNameDoes) {
  const std::string file = std::string(GPUTOPO_SOURCE_DIR) + "/probes/models/h200.json";
  EXPECT_EQ(run_gputopo({"models", "--truth", file}).out, run_gputopo({"models", "--truth", "h200"}).out);
}

TEST(Models, AnUnknownModelIsOneLine) {
  for (const char* name : {"nosuch", "/nowhere/model.json"}) {
    const Outcome o = run_gputopo({"models", "--truth", name});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_THAT(o.err, HasSubstr(name));
  }
}

TEST(Doctor, EveryLineIsARemedyOrGood) {
  const Outcome o = run_gputopo({"doctor"});
  EXPECT_EQ(o.exit_code, o.out.find("missing ") == std::string::npos ? 0 : 1);
  std::istringstream lines(o.out);
  int count = 0;
  std::vector<std::string> checks;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    if (line.starts_with("    "))
      checks.back() += " " + line.substr(line.find_first_not_of(' '));
    else
      checks.push_back(line);
  }
  for (const std::string& line : checks) {
    ++count;
    const bool known = line.starts_with("ok ") || line.starts_with("limited ") || line.starts_with("missing ");
    EXPECT_TRUE(known) << line;
    EXPECT_TRUE(line.starts_with("ok ") || line.find("; ") != std::string::npos) << "no remedy: " << line;
  }
  EXPECT_GE(count, 7);
  EXPECT_EQ(o.err, "");
}

TEST(Command, MistypedIsNamedWithTheNearestOne) {
  const Outcome o = run_gputopo({"discovr", "--device", "sim:h200"});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_EQ(o.err, "gputopo: there is no command 'discovr'; the nearest one is 'discover'\n");
  EXPECT_THAT(run_gputopo({"doctr"}).err, HasSubstr("'doctor'"));
  EXPECT_THAT(run_gputopo({"--nosuch"}).err, HasSubstr("see 'gputopo --help'"));
}

TEST(Doctor, NamesASimulatedGpuThatNobodyKnows) {
  Launch launch;
  launch.arguments = {"doctor"};
  launch.environment = {"GPUTOPO_SIMULATE=h200,nosuch"};
  const Outcome o = run_gputopo(launch);
  EXPECT_THAT(o.out, HasSubstr("h200: shown as simulated"));
  EXPECT_THAT(o.out, HasSubstr("limited  GPUTOPO_SIMULATE     no simulated GPU is called 'nosuch'"));
}

TEST(Doctor, SaysThatThisLstopoDoesNotFindThePlugin) {
  if (std::system("command -v lstopo-no-graphics >/dev/null") != 0) GTEST_SKIP() << "hwloc's tools aren't installed";
  Launch launch;
  launch.arguments = {"doctor"};
  launch.environment = {"HWLOC_PLUGINS_PATH=/nowhere"};
  EXPECT_THAT(run_gputopo(launch).out, HasSubstr("limited  lstopo"));
}

TEST(Doctor, SaysThatThisLstopoFindsThePlugin) {
#ifdef GPUTOPO_ADDRESS_SANITIZER
  GTEST_SKIP() << "a host without the sanitizer can't load a plugin that has it";
#endif
  if (std::system("command -v lstopo-no-graphics >/dev/null") != 0) GTEST_SKIP() << "hwloc's tools aren't installed";
  Launch launch;
  launch.arguments = {"doctor"};
  launch.environment = {"HWLOC_PLUGINS_PATH=" GPUTOPO_BINARY_DIR "/lib/hwloc"};
  EXPECT_THAT(run_gputopo(launch).out, HasSubstr("ok       lstopo               finds the plugin"));
}

}  // namespace
}  // namespace gputopo::cli
