// One SIGINT or SIGTERM ends every command within a second, wherever it is.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "process_run.hpp"

namespace gputopo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_to_end(const std::vector<std::string>& arguments, int after_ms = 200, const std::string& stdin_path = {},
                   const std::string& doing = "interrupted") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Launch launch;
    launch.arguments = arguments;
    launch.stdin_path = stdin_path;
    launch.signal = signal;
    launch.signal_after_ms = after_ms;
    const Outcome o = run_gputopo(launch);
    EXPECT_EQ(o.exit_code, 130) << arguments.front() << ": " << o.err;
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_THAT(o.err, HasSubstr(doing));
    EXPECT_LT(o.ms_after_signal, 1000) << arguments.front();
  }
}

// After so long every command waits for the other end of its pipe, on a busy machine and with sanitizers, too.
constexpr int surely_waits_ms = 1000;

std::string pipe_in(const Folder& folder) {
  std::string path = folder / "pipe";
  ::mkfifo(path.c_str(), 0600);
  return path;
}

TEST(Stop, WhileWaitingForSomebodyToWriteAPipe) {
  const Folder folder;
  const std::string pipe = pipe_in(folder);
  expect_to_end({"show", pipe}, surely_waits_ms, {}, "interrupted while reading '" + pipe + "'\n");
  expect_to_end({"analyze", pipe});
  expect_to_end({"export", "--hwloc-xml", "-", pipe});
  expect_to_end({"discover", "--device", "replay:" + pipe});
}

TEST(Stop, WhileReadingStandardInput) {
  const Folder folder;
  expect_to_end({"analyze", "-"}, surely_waits_ms, pipe_in(folder), "interrupted while reading 'standard input'\n");
}

TEST(Stop, WhileWaitingForSomebodyToReadAPipe) {
  const Folder folder;
  expect_to_end({"models", "-o", pipe_in(folder)}, surely_waits_ms, {}, "interrupted while writing '");
  EXPECT_THAT(folder.names(), ElementsAre("pipe"));
}

TEST(Stop, DeepInAnInference) {
  const Folder folder;
  std::ofstream trace(folder / "trace.csv");
  for (int size = 1; size <= 65536; ++size) trace << size * 32 << (size % 3 == 0 ? ",41,240,44\n" : ",40,42,43\n");
  trace.close();
  expect_to_end({"analyze", folder / "trace.csv", "--attribute", "fetch_granularity"}, 100);
}

TEST(Stop, DeepInALargeModel) {
  const Folder folder;
  std::ifstream file(GPUTOPO_SOURCE_DIR "/probes/models/h200.json");
  auto model = nlohmann::json::parse(file);
  model["gpu"]["sm_count"] = 4096;
  model["groups"] = {{"tpc", 2}, {"cpc", 6}, {"gpc", 16}, {"partition", 2048}};
  std::ofstream(folder / "large.json") << model;
  for (const int after_ms : {300, 3000})
    expect_to_end({"discover", "--quiet", "--all", "--device", "sim:" + (folder / "large.json")}, after_ms);
}

}  // namespace
}  // namespace gputopo::cli
