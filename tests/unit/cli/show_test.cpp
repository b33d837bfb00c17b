#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"
#include "text/printable.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using ::testing::AnyOf;
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

TEST(Show, DrawsTheCurvesThatADiscoveryKept) {
  const Folder folder;
  const std::string topology = folder / "t.json", evidence = folder / "e.json";
  const Outcome found = run_gputopo({"discover", "--device", "sim:gt200", "--only", "constant_l1", "--quiet",
                                     "--format", "json", "-o", topology, "--evidence", evidence});
  ASSERT_NE(found.exit_code, 1) << found.err;
  const Outcome page = run_gputopo({"show", topology, "--evidence", evidence, "--format", "html"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  for (const char* curve : {"Constant L1 cache: size", "Constant L1 cache: line size", "Constant L1 cache: latency"})
    EXPECT_THAT(page.out, HasSubstr(curve));
  EXPECT_THAT(page.out, HasSubstr("<figcaption>2 KiB"));
  EXPECT_EQ(page.err.find("left out"), std::string::npos);
  EXPECT_THAT(run_gputopo({"show", topology, "--evidence", evidence}).err, HasSubstr("only html shows curves"));
  const std::string other = folder / "other.json";
  run_gputopo({"discover", "--device", "sim:fermi", "--only", "l1", "--format", "json", "-o", other});
  EXPECT_THAT(run_gputopo({"show", other, "--evidence", evidence, "--format", "html"}).err,
              HasSubstr("show that discovery's result"));
  const Outcome refused = run_gputopo({"show", topology, "--evidence", topology, "--format", "html"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("write one with 'gputopo discover --evidence'"));
}

TEST(Show, AFileWithoutChecksumIsShownAndOneThatWasAlteredIsRefused) {
  auto json = nlohmann::ordered_json::parse(run_gputopo({"models", "--truth", "h200", "--format", "json"}).out);
  json["gpu"]["sm_count"] = 131;
  const Outcome altered = show_text(json.dump());
  EXPECT_EQ(altered.exit_code, 1);
  EXPECT_THAT(altered.err, HasSubstr("/checksum: doesn't fit"));
  json.erase("checksum");
  const Outcome by_hand = show_text(json.dump());
  EXPECT_EQ(by_hand.exit_code, 0);
  EXPECT_THAT(by_hand.err, HasSubstr("has no checksum: nothing tells whether it was altered"));
}

TEST(Show, NothingInAFileSteersATerminal) {
  auto json = nlohmann::json::parse(run_gputopo({"models", "--truth", "h200", "--format", "json"}).out);
  json.erase("checksum");
  const std::string hostile = "\x1b[31m\a\r\x7f\xc2\x9b\xe2\x80\xae";
  json["gpu"]["name"] = hostile;
  json["gpu"]["uuid"] = hostile;
  json["provenance"]["notes"] = {hostile};
  auto& attributes = json["memories"][0]["attributes"];
  attributes["size"]["unit"] = hostile;
  attributes[hostile] = attributes["size"];
  for (const std::string format : {"table", "json", "csv", "markdown", "html"}) {
    const Outcome o = show_text(json.dump(), format);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(text::printable(o.out, o.out.size(), "\n"), o.out) << format;
  }
  attributes[hostile]["status"] = hostile;
  const Outcome refused = show_text(json.dump());
  EXPECT_TRUE(is_one_error_line(refused.err)) << refused.err;
  EXPECT_EQ(text::printable(refused.err, refused.err.size(), "\n"), refused.err);
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
  EXPECT_THAT(o.err,
              AnyOf(HasSubstr("no NVIDIA GPU with a running driver; name a file that 'gputopo discover --format json'"),
                    HasSubstr("run 'gputopo discover --all-gpus --save'")));
  for (const std::vector<std::string>& other : {std::vector<std::string>{"compare"}, {"export", "--prometheus", "-"}})
    EXPECT_THAT(run_gputopo(other).err, HasSubstr("nothing to " + other.front() + ": "));
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

TEST(Show, SeveralSimulatedGpusAreNumberedAndWrittenAsWhatItReads) {
  Launch launch;
  launch.arguments = {"show"};
  launch.environment = {"GPUTOPO_SIMULATE=h200,a100"};
  const Outcome table = run_gputopo(launch);
  EXPECT_THAT(table.out, StartsWith("GPU 0: NVIDIA H200 (simulated)\n"));
  EXPECT_THAT(table.out, HasSubstr("\n\nGPU 1: NVIDIA A100"));
  launch.arguments = {"show", "--format", "json"};
  const std::string json = run_gputopo(launch).out;
  EXPECT_EQ(show_text(json, "json").out, json);
  EXPECT_EQ(show_text(json).out, table.out);
  launch.environment = {"GPUTOPO_SIMULATE=h200,nosuch"};
  const Outcome unknown = run_gputopo(launch);
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("nosuch"));
}

TEST(Show, AnArrayNamesTheElementThatIsNoTopology) {
  const std::string json = run_gputopo({"models", "--truth", "h200", "--format", "json"}).out;
  EXPECT_THAT(show_text("[" + json + ", {\"schema\": \"other\"}]").err, HasSubstr("/1/schema"));
  EXPECT_EQ(show_text("[" + json + ", []]").exit_code, 1);
}

TEST(Show, EachElementOfAnArrayIsHeldAgainstItsChecksum) {
  const auto json = nlohmann::ordered_json::parse(run_gputopo({"models", "--truth", "h200", "--format", "json"}).out);
  nlohmann::ordered_json array = {json, json};
  EXPECT_EQ(show_text(array.dump()).err, "");
  array[1]["gpu"]["sm_count"] = 131;
  EXPECT_THAT(show_text(array.dump()).err, HasSubstr("/1/checksum: doesn't fit"));
  array[1].erase("checksum");
  const Outcome by_hand = show_text(array.dump());
  EXPECT_EQ(by_hand.exit_code, 0);
  EXPECT_THAT(by_hand.err, HasSubstr("has no checksum"));
}

}  // namespace
}  // namespace gputopo::cli
