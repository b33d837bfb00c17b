// Where data goes, and what happens where it can't.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "process_run.hpp"

namespace gputopo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> truth{"models", "--truth", "h200", "--format", "json"};

std::vector<std::string> truth_into(const std::string& path) {
  auto arguments = truth;
  arguments.insert(arguments.end(), {"-o", path});
  return arguments;
}

TEST(Output, AFileHoldsWhatStdoutWould) {
  const Folder folder;
  const Outcome o = run_gputopo(truth_into(folder / "t.json"));
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.out + o.err, "");
  EXPECT_EQ(contents(folder / "t.json"), run_gputopo(truth).out);
  EXPECT_THAT(folder.names(), ElementsAre("t.json"));
}

TEST(Output, AMissingFolderIsOneLine) {
  const Folder folder;
  const Outcome o = run_gputopo(truth_into(folder / "missing/t.json"));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("missing/t.json': No such file or directory; create the folder first"));
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST(Output, AFullDiskIsOneLine) {
  const Outcome o = run_gputopo(truth_into("/dev/full"));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("No space left on device"));
}

// A limit as `ulimit -f` sets it ends a process unless it looks.
TEST(Output, AFileLimitIsOneLineAndLeavesNothing) {
  const Folder folder;
  Launch launch;
  launch.arguments = truth_into(folder / "t.json");
  launch.file_limit_bytes = 1024;
  const Outcome o = run_gputopo(launch);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("File too large; raise the limit"));
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST(Output, TwoOutputsTakeTwoFiles) {
  const Folder folder;
  const Outcome o = run_gputopo({"discover", "--device", "sim:gt200", "-o", folder / "x", "--record", folder / "./x"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.err, "gputopo: -o and --record name the same file; give each its own\n");
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST(Output, NoOutputTakesAFileThatIsRead) {
  const Folder folder;
  const std::string topology = folder / "t.json", model = folder / "m.json", recording = folder / "r.json",
                    evidence = folder / "e.json", trace = folder / "t.csv", linked = folder / "linked";
  std::ofstream(topology) << run_gputopo(truth).out;
  std::filesystem::copy_file(std::string(GPUTOPO_SOURCE_DIR) + "/probes/models/gt200.json", model);
  std::ofstream(trace) << "40\n41\n40\n";
  std::filesystem::create_symlink("t.json", linked);
  std::vector<std::vector<std::string>> refused{{"show", topology, "-o", topology},
                                                {"show", topology, "-o", linked},
                                                {"show", linked, "-o", folder / "./t.json"},
                                                {"compare", topology, topology, "-o", topology},
                                                {"export", "--prometheus", topology, topology},
                                                {"export", "--mt4g", topology, topology},
                                                {"export", "--hwloc-xml", topology, topology},
                                                {"models", "--truth", model, "-o", model},
                                                {"analyze", "--attribute", "latency", trace, "-o", trace}};
#ifdef GPUTOPO_HAS_DISCOVER
  run_gputopo({"discover", "--device", "sim:gt200", "--only", "shared", "--quiet", "--record", recording, "--evidence",
               evidence});
  const std::string replay = "replay:" + recording, sim = "sim:" + model;
  for (const char* option : {"-o", "--record", "--evidence"}) {
    refused.push_back({"discover", "--device", replay, "--only", "shared", option, recording});
    refused.push_back({"discover", "--device", "sim:gt200," + sim, "--only", "shared", option, model});
  }
  refused.push_back({"show", topology, "--evidence", evidence, "-o", evidence});
  refused.push_back({"bench", "banks", "--device", replay, "--record", recording});
  refused.push_back({"bench", "banks", "--device", sim, "-o", model});
  refused.push_back({"bench", "traffic", topology, "--predict", "1", "--size", "1000000", "-o", topology});
  refused.push_back({"bench", "traffic", "--device", sim, "--predict", "1", "--size", "1000000", "-o", model});
#endif
  const auto all = [&] {
    return contents(topology) + contents(model) + contents(recording) + contents(evidence) + contents(trace);
  };
  const std::string before = all();
  for (const auto& arguments : refused) {
    const Outcome o = run_gputopo(arguments);
    EXPECT_EQ(o.exit_code, 1) << ::testing::PrintToString(arguments);
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_THAT(o.err, HasSubstr("that file is read as well and would be lost; name another one by " +
                                 (arguments.front() == "export" ? arguments[1] : *(arguments.end() - 2))));
    EXPECT_EQ(o.out, "");
  }
  EXPECT_EQ(all(), before);
}

TEST(Output, NoOutputTakesTheFileOfAStream) {
  const Folder folder;
  const std::string topology = folder / "t.json";
  std::ofstream(topology) << run_gputopo(truth).out;
  const std::string before = contents(topology);
  Launch piped;
  piped.arguments = {"show", "-", "-o", topology};
  piped.stdin_path = topology;
  Launch appending;
  appending.arguments = {"show", topology};
  appending.stdout_path = topology;
  for (const Launch& launch : {piped, appending}) {
    const Outcome o = run_gputopo(launch);
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_THAT(o.err, HasSubstr("that file is read as well and would be lost; name another one by -o"));
    EXPECT_EQ(contents(topology), before);
  }
}

TEST(Output, AGpusFileInAFolderIsNoOneElses) {
  const Folder folder;
  auto json = nlohmann::ordered_json::parse(run_gputopo(truth).out);
  json.erase("checksum");
  json["gpu"]["uuid"] = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  const std::string own = folder / "GPU-01234567-89ab-cdef-0123-456789abcdef.json", copy = folder / "copy.json";
  std::ofstream(own) << json.dump();
  std::ofstream(copy) << json.dump();
  EXPECT_THAT(run_gputopo({"export", "--mt4g", folder.path(), own}).err, HasSubstr("that file is read as well"));
  std::filesystem::remove(own);
  const Outcome twins = run_gputopo({"export", "--mt4g", folder.path(), copy, copy});
  EXPECT_EQ(twins.exit_code, 1);
  EXPECT_THAT(twins.err, HasSubstr("GPUs 0 and 1 have one UUID and would be one file"));
  EXPECT_THAT(folder.names(), ElementsAre("copy.json"));
}

TEST(Output, AFileOfASimulationIsNoOutput) {
  const Folder folder;
  const std::string model = folder / "m.json";
  std::filesystem::copy_file(std::string(GPUTOPO_SOURCE_DIR) + "/probes/models/gt200.json", model);
  const std::string before = contents(model);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"show", "-o", model}, {"export", "--prometheus", model}, {"compare", "-o", model}}) {
    Launch launch;
    launch.arguments = arguments;
    launch.environment = {"GPUTOPO_SIMULATE=" + model + "," + model};
    EXPECT_THAT(run_gputopo(launch).err, HasSubstr("that file is read as well and would be lost"));
    EXPECT_EQ(contents(model), before);
  }
}

TEST(Output, AFolderIsNoFile) {
  const Folder folder;
  const Outcome o = run_gputopo(truth_into(folder.path()));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.err, HasSubstr("Is a directory"));
}

TEST(Output, AnUnwritableFolderIsOneLine) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const Folder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const Outcome o = run_gputopo(truth_into(folder / "t.json"));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.err, HasSubstr("choose a folder you may write to"));
}

TEST(Output, AFullStdoutIsNoticed) {
  Launch launch;
  launch.arguments = truth;
  launch.stdout_path = "/dev/full";
  const Outcome o = run_gputopo(launch);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.err, HasSubstr("can't write standard output: No space left on device"));
}

TEST(Output, AClosedStdoutIsNoticedAndNoFileTakesItsPlace) {
  const Folder folder;
  std::ofstream(folder / "in.json") << run_gputopo(truth).out;
  const std::string before = contents(folder / "in.json");
  Launch launch;
  launch.arguments = {"show", folder / "in.json"};
  launch.stdout_path = "-";
  const Outcome o = run_gputopo(launch);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.err, HasSubstr("can't write standard output: Bad file descriptor; it is closed"));
  EXPECT_EQ(contents(folder / "in.json"), before);
}

TEST(Output, ADashIsAStreamWhereverAFileCanBe) {
  const Folder folder;
  const std::string topology = folder / "t.json";
  const std::string model = std::string(GPUTOPO_SOURCE_DIR) + "/probes/models/k20c.json";
  const std::string written = run_gputopo(truth).out;
  std::ofstream(topology) << written;
  const std::vector<std::pair<std::vector<std::string>, std::string>> readers{
      {{"show", "-"}, topology},
      {{"compare", "-", topology}, topology},
      {{"export", "--hwloc-xml", "-", "-"}, topology},
      {{"export", "--mt4g", "-", "-"}, topology},
      {{"export", "--prometheus", "-", "-"}, topology},
      {{"models", "--truth", "-"}, model},
      {{"discover", "--device", "sim:-", "--only", "shared", "--quiet"}, model}};
  for (const auto& [arguments, input] : readers) {
    Launch launch;
    launch.arguments = arguments;
    launch.stdin_path = input;
    launch.environment = {"HWLOC_PLUGINS_PATH=/nonexistent"};  // the one of libxml leaks, which sanitizers report
    const Outcome o = run_gputopo(launch);
    EXPECT_EQ(o.exit_code, 0) << arguments.front() << ": " << o.err;
    EXPECT_FALSE(o.out.empty()) << arguments.front();
  }
  EXPECT_EQ(run_gputopo({"show", topology, "--format", "json", "-o", "-"}).out, written);
}

TEST(Output, ARecordingMayGoToStdoutWhereTheResultDoesNot) {
  const Folder folder;
  const std::vector<std::string> discover{"discover", "--device", "sim:k20c", "--only",
                                          "shared",   "--quiet",  "--record", "-"};
  const Outcome both = run_gputopo(discover);
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_THAT(both.err, HasSubstr("can't both go to stdout"));
  for (const char* same : {"/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"}) {
    auto renamed = discover;
    renamed.back() = same;
    EXPECT_EQ(run_gputopo(renamed).err, both.err) << same;
    renamed.insert(renamed.end(), {"-o", "-"});
    EXPECT_EQ(run_gputopo(renamed).err, both.err) << same;
  }
  for (const std::string& file : {folder / "so", std::string("/dev/null")}) {
    Launch redirected;
    redirected.arguments = discover;
    redirected.arguments.back() = file;
    redirected.stdout_path = file;
    EXPECT_EQ(run_gputopo(redirected).err, file == "/dev/null" ? "" : both.err);
  }
  auto apart = discover;
  apart.insert(apart.end(), {"-o", folder / "t.txt"});
  const std::string recording = run_gputopo(apart).out;
  EXPECT_THAT(recording, HasSubstr("gputopo-recording/1"));
  std::ofstream(folder / "r.json") << recording;
  Launch again;
  again.arguments = {"discover", "--device", "replay:-", "--only", "shared", "--quiet"};
  again.stdin_path = folder / "r.json";
  EXPECT_EQ(run_gputopo(again).exit_code, 0);
}

// Each of these has a remark on its result: a file without a checksum, which GPU this is, what was saved or left out.
TEST(Output, ACommandThatFailsSaysItsErrorAlone) {
  const Folder folder;
  const auto unsealed = [&folder](const std::string& model) {
    auto json = nlohmann::ordered_json::parse(run_gputopo({"models", "--truth", model, "--format", "json"}).out);
    json.erase("checksum");
    const std::string path = folder / model + ".json";
    std::ofstream(path) << json.dump();
    return path;
  };
  const std::string h200 = unsealed("h200"), gt200 = unsealed("gt200"), garbage = folder / "garbage.json";
  std::ofstream(garbage) << "{}";
  std::vector<Launch> launches;
  const auto fails = [&launches](std::vector<std::string> arguments, const std::string& stdout_path = {}) -> Launch& {
    Launch& launch = launches.emplace_back();
    launch.arguments = std::move(arguments);
    launch.stdout_path = stdout_path;
    return launch;
  };
  fails({"show", h200}, "/dev/full");
  fails({"show", h200, "--evidence", garbage});
  fails({"compare", h200, garbage});
  fails({"export", "--prometheus", "-", h200, garbage});
  fails({"export", "--mt4g", "-", h200, h200});
  fails({"export", "--mt4g", folder.path(), gt200, gt200});
  fails({"export", "--hwloc-xml", "/dev/full", h200}).environment = {"HWLOC_PLUGINS_PATH=/nonexistent"};  // as above
#ifdef GPUTOPO_HAS_DISCOVER
  const std::string recording = folder / "r.json";
  run_gputopo({"discover", "--device", "sim:gt200", "--only", "constant_l1", "--record", recording});
  fails({"bench", "traffic", "--predict", "1", "--size", "1000000", gt200});
  fails({"bench", "bandwidth", "--device", "sim:gt200", "--format", "json"});
  fails({"discover", "--device", "sim:gt200", "--only", "constant_l1", "--format", "json"}, "/dev/full");
  fails({"discover", "--device", "sim:gt200,cuda:4000", "--only", "constant_l1", "--format", "csv"}, "/dev/full");
  fails({"discover", "--device", "cuda:4000,cuda:4001", "--format", "json"});
  fails({"discover", "--device", "replay:" + recording, "--only", "constant_l1", "--save", "--force"}, "/dev/full")
      .environment = {"GPUTOPO_STORE=" + folder / "store"};
#endif
  for (const Launch& launch : launches) {
    const Outcome o = run_gputopo(launch);
    EXPECT_EQ(o.exit_code, 1) << ::testing::PrintToString(launch.arguments) << o.err;
    EXPECT_TRUE(is_one_error_line(o.err)) << ::testing::PrintToString(launch.arguments) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

TEST(Output, PipesGetAsciiEvenInAUtf8Locale) {
  for (const char c : run_gputopo({"models", "--truth", "h200"}).out) ASSERT_LT(static_cast<unsigned char>(c), 128);
}

}  // namespace
}  // namespace gputopo::cli
