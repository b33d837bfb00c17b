#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> discover(std::vector<std::string> more) {
  more.insert(more.begin(), "discover");
  return more;
}

TEST(Discover, MistakesAreStatusTwo) {
  const std::vector<std::vector<std::string>> mistakes{
      {"--device", "gpu0"}, {"--device", "cuda:x"}, {"--only", "l1,l9"}, {"--method", "guess"},
      {"--seed", "-1"},     {"--seed", "many"},     {"--format", "yaml"}};
  for (const auto& arguments : mistakes) {
    const Outcome o = run_gputopo(discover(arguments));
    EXPECT_EQ(o.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  }
}

TEST(Discover, DevicesThatAreNotThereAreStatusOne) {
  for (const char* device : {"sim:nosuch", "sim:/nowhere.json", "replay:/nowhere.json", "cuda:4000"}) {
    const Outcome o = run_gputopo(discover({"--device", device}));
    EXPECT_EQ(o.exit_code, 1) << device;
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

TEST(Discover, TheFirstLineSaysWhichGpuAndThatItIsSimulated) {
  const Outcome o = run_gputopo(discover({"--device", "sim:h200", "--only", "l1"}));
  EXPECT_THAT(o.exit_code, ::testing::AnyOf(0, 3)) << o.err;
  EXPECT_THAT(o.out, StartsWith("NVIDIA H200 (simulated, model h200)\n"));
  EXPECT_THAT(o.out, HasSubstr("L1 data"));
  EXPECT_EQ(o.err, "") << "no progress where stderr is no terminal";
}

// Every experiment there is, in a process of its own: with sanitizers as well.
TEST(Discover, DeepFindsLevelsThatTheEverydayOneLeavesOut) {
  const Outcome o = run_gputopo(discover({"--device", "sim:gt200", "--deep", "--all", "--format", "json", "--quiet"}));
  EXPECT_THAT(o.exit_code, ::testing::AnyOf(0, 3)) << o.err;
  EXPECT_EQ(o.err, "");
  for (const char* id : {"tlb_l1", "tlb_l2", "instruction_l1", "instruction_l1_5", "instruction_l2"})
    EXPECT_THAT(o.out, HasSubstr(fmt::format("\"id\": \"{}\"", id)));
}

TEST(Discover, SeveralDevicesGiveWhatEachGivesAlone) {
  const auto json_of = [](const std::string& device) {
    auto json = nlohmann::json::parse(
        run_gputopo(discover({"--device", device, "--only", "l1,l2", "--format", "json", "--quiet"})).out);
    for (auto* one : json.is_array() ? std::vector<nlohmann::json*>{&json[0], &json[1]} : std::vector{&json}) {
      for (const char* key : {"created", "duration_s", "breakdown_s"}) (*one)["provenance"].erase(key);
      one->erase("checksum");
    }
    return json;
  };
  EXPECT_EQ(json_of("sim:gt200,sim:fermi"), nlohmann::json::array({json_of("sim:gt200"), json_of("sim:fermi")}));
}

TEST(Discover, EachOfSeveralDevicesHasAHeading) {
  const Outcome o = run_gputopo(discover({"--device", "sim:gt200,sim:gt200", "--only", "constant_l1"}));
  EXPECT_THAT(o.out, StartsWith("GPU 0: "));
  EXPECT_THAT(o.out, HasSubstr("\n\nGPU 1: "));
}

TEST(Discover, OneOfSeveralThatFailsLeavesTheOthers) {
  const Outcome o = run_gputopo(discover({"--device", "sim:gt200,cuda:4000", "--only", "constant_l1"}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.out, StartsWith("GPU 0: "));
  EXPECT_THAT(o.err, StartsWith("gputopo: cuda:4000 is left out: "));
}

TEST(Discover, SeveralDevicesDontMixWithWhatTakesOne) {
  const Folder folder;
  const std::vector<std::vector<std::string>> usage{
      {"--device", "cuda:0,cuda:0"}, {"--device", "auto,sim:h200"}, {"--device", "cuda:0", "--all-gpus"}};
  for (const auto& arguments : usage) EXPECT_EQ(run_gputopo(discover(arguments)).exit_code, 2) << arguments[1];
  const Outcome o = run_gputopo(discover({"--device", "sim:gt200,sim:fermi", "--record", folder / "r.json"}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
}

TEST(Discover, JsonKeepsTheRemarkOnStderrUnlessQuiet) {
  const Outcome o = run_gputopo(discover({"--device", "sim:840m", "--only", "l1", "--format", "json"}));
  EXPECT_EQ(o.err, "GeForce 840M (simulated, model 840m)\n");
  EXPECT_TRUE(parse_topology(o.out));
  EXPECT_EQ(run_gputopo(discover({"--device", "sim:840m", "--only", "l1", "--format", "json", "--quiet"})).err, "");
}

TEST(Discover, ARecordingReplaysToTheSameMemories) {
  const Folder folder;
  const std::vector<std::string> options{"--only", "l1,constant_l1", "--format", "json", "--quiet"};
  auto record = discover({"--device", "sim:840m", "--record", folder / "r.json"});
  record.insert(record.end(), options.begin(), options.end());
  const auto measured = parse_topology(run_gputopo(record).out);
  auto replay = discover({"--device", "replay:" + folder / "r.json"});
  replay.insert(replay.end(), options.begin(), options.end());
  const auto replayed = parse_topology(run_gputopo(replay).out);
  ASSERT_TRUE(measured && replayed);
  EXPECT_EQ(replayed->memories, measured->memories);
  EXPECT_EQ(replayed->gpu, measured->gpu);
  EXPECT_EQ(replayed->provenance.device, "replay");
  EXPECT_NE(contents(folder / "r.json").find("\"recorded\":\"" + replayed->provenance.created), std::string::npos)
      << "a replay's date is the recording's";
}

TEST(Discover, ATruncatedRecordingIsOneLine) {
  const Folder folder;
  run_gputopo(discover({"--device", "sim:840m", "--only", "l1", "--record", folder / "r.json"}));
  const std::string text = contents(folder / "r.json");
  ASSERT_GT(text.size(), 100U);
  std::ofstream(folder / "cut.json") << text.substr(0, text.size() / 2);
  const Outcome o = run_gputopo(discover({"--device", "replay:" + folder / "cut.json", "--only", "l1"}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("record again with --record"));
}

TEST(Discover, ARecordingOfOtherOptionsSaysSo) {
  const Folder folder;
  run_gputopo(discover({"--device", "sim:840m", "--only", "l1", "--record", folder / "r.json"}));
  const Outcome part = run_gputopo(discover({"--device", "replay:" + folder / "r.json", "--only", "l2"}));
  EXPECT_EQ(part.exit_code, 3);
  EXPECT_THAT(part.out, HasSubstr("l2.geometry: the recording doesn't hold"));
  const Outcome none = run_gputopo(discover({"--device", "replay:" + folder / "r.json", "--only", "constant_l1"}));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("recorded by another version or with other options"));
}

TEST(Discover, PrintsWhatItMeasuredWhereTheRestCannotBeWritten) {
  for (const char* option : {"--record", "--evidence"}) {
    const Outcome o = run_gputopo(discover({"--device", "sim:840m", "--only", "l1", option, "/dev/full"}));
    EXPECT_EQ(o.exit_code, 1) << option;
    EXPECT_THAT(o.out, HasSubstr("L1 data")) << option;
    EXPECT_THAT(o.err, HasSubstr("gputopo: can't write '/dev/full'")) << option;
  }
}

TEST(Discover, UnwritableOutputsAreNoticedBeforeTheWork) {
  for (const char* option : {"-o", "--record"}) {
    const Outcome o = run_gputopo(discover({"--device", "sim:h200", option, "/nowhere/file"}));
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

TEST(Discover, ASimulatedGpuIsNotSaved) {
  const Outcome o = run_gputopo(discover({"--device", "sim:840m", "--save"}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.err, HasSubstr("--save stores what was measured of real GPUs only"));
}

TEST(Discover, AnInterruptLeavesNothingHalfWritten) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Folder folder;
    Launch launch;
    launch.arguments =
        discover({"--device", "sim:840m", "--all", "-o", folder / "t.txt", "--record", folder / "r.json"});
    launch.signal = signal;
    launch.signal_after_ms = 150;
    const Outcome o = run_gputopo(launch);
    EXPECT_EQ(o.exit_code, 130) << o.err;
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_THAT(folder.names(), ElementsAre());
  }
}

}  // namespace
}  // namespace gputopo::cli
