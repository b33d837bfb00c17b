// discover --save, with a recording of a real GPU in the GPU's place.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process_run.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string recording = GPUTOPO_SOURCE_DIR "/tests/fixtures/h200/recording.json";
const std::string uuid = "GPU-7d1b33bb-dcec-6358-08ea-26725e0f2376";

Launch saving(const std::string& store, std::vector<std::string> more) {
  Launch launch;
  launch.arguments = {"discover", "--device", "replay:" + recording, "--save"};
  launch.arguments.insert(launch.arguments.end(), more.begin(), more.end());
  launch.environment = {"GPUTOPO_STORE=" + store};
  return launch;
}

TEST(DiscoverSave, AReplayIsKeptWhereToldAlone) {
  const Folder store;
  const Outcome o = run_gputopo(saving(store.path(), {"--only", "shared"}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("add --force"));
  EXPECT_THAT(store.names(), ElementsAre());
  const Outcome forced = run_gputopo(saving(store.path(), {"--only", "shared", "--force"}));
  EXPECT_EQ(forced.err, "saved as " + store.path() + "/" + uuid + ".json\n");
  EXPECT_THAT(store.names(), ElementsAre(uuid + ".json"));
}

TEST(DiscoverSave, PartsAddUpAndShowTellsWhatIsOlder) {
  const Folder store;
  const std::string file = store.path() + "/" + uuid + ".json";
  ASSERT_EQ(run_gputopo(saving(store.path(), {"--only", "shared", "--force", "--quiet"})).exit_code, 0);
  auto older = parse_topology(contents(file));
  ASSERT_TRUE(older);
  older->provenance.created = "2025-12-24T18:00:00Z";
  std::ofstream(file) << to_json_text(*older);
  const Outcome second = run_gputopo(saving(store.path(), {"--only", "l1", "--force", "--quiet"}));
  EXPECT_THAT(second.exit_code, ::testing::AnyOf(0, 3)) << second.err;
  const auto both = parse_topology(contents(file));
  ASSERT_TRUE(both);
  ASSERT_TRUE(both->find("l1") && both->find("shared"));
  EXPECT_EQ(both->find("shared")->created, "2025-12-24T18:00:00Z");
  const std::string shown = run_gputopo({"show", file}).out;
  EXPECT_THAT(shown, HasSubstr("From earlier runs: shared (2025-12-24T18:00:00Z, replayed from a"));
}

TEST(DiscoverSave, AnUnwritableStoreIsNoticedBeforeMeasuring) {
  const Outcome o = run_gputopo(saving("/proc/nowhere", {"--force"}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("GPUTOPO_STORE"));
}

TEST(DiscoverSave, TheResultIsPrintedAlthoughSavingFails) {
  const Folder store;
  Launch launch = saving(store.path(), {"--only", "shared", "--force"});
  launch.file_limit_bytes = 100;  // as a full disk: the folder can be written and the file can't
  const Outcome o = run_gputopo(launch);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.out, StartsWith("NVIDIA H200 (replayed from "));
  EXPECT_THAT(o.out, HasSubstr("Shared"));
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(store.names(), ElementsAre());
}

TEST(DiscoverSave, ForceAloneIsWrongUsage) {
  EXPECT_EQ(run_gputopo({"discover", "--device", "sim:gt200", "--force"}).exit_code, 2);
}

}  // namespace
}  // namespace gputopo::cli
