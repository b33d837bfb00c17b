#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process_run.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Outcome show_text(const std::string& text, const std::string& format = "table") {
  const Folder folder;
  std::ofstream(folder / "t.json") << text;
  return run_gputopo({"show", folder / "t.json", "--format", format});
}

TEST(Show, PrintsAFileInEveryFormat) {
  const std::string json = run_gputopo({"models", "--truth", "h200", "--format", "json"}).out;
  EXPECT_EQ(show_text(json, "json").out, json);
  EXPECT_THAT(show_text(json).out, StartsWith("NVIDIA H200 (simulated)\n"));
  EXPECT_THAT(show_text(json, "csv").out, StartsWith("gpu,uuid,"));
  EXPECT_THAT(show_text(json, "markdown").out, StartsWith("## NVIDIA H200 (simulated)"));
  EXPECT_THAT(show_text(json, "html").out, StartsWith("<!DOCTYPE html>"));
}

TEST(Show, AFileThatIsNoTopologyIsOneLine) {
  for (const std::string text : {"", "{", "[]", "{\"schema\": \"other\"}", "\177ELF"}) {
    const Outcome o = show_text(text);
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

TEST(Show, WithoutAFileAndAGpuItSaysWhatToDo) {
  const Outcome o = run_gputopo({"show"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("run 'gputopo discover --save', or name a file"));
}

TEST(Show, TheSimulatedGpuOfTheEnvironmentIsLabelled) {
  Launch launch;
  launch.arguments = {"show", "--format", "json"};
  launch.environment = {"GPUTOPO_SIMULATE=a100"};
  const Outcome o = run_gputopo(launch);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto topology = parse_topology(o.out);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_TRUE(topology->provenance.simulated);
  EXPECT_EQ(topology->find("l1")->find("size")->status, Status::truth);
  launch.environment = {"GPUTOPO_SIMULATE=nosuch"};
  const Outcome unknown = run_gputopo(launch);
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("nosuch"));
}

}  // namespace
}  // namespace gputopo::cli
