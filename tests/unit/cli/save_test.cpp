// discover --save, with a recording of a real GPU in the GPU's place.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/replay/recording.hpp"
#include "process_run.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";

// A recording of one memory as a real GPU's would be.
void record(const std::string& path, const std::string& memory) {
  run_gputopo({"discover", "--device", "sim:gt200", "--only", memory, "--record", path});
  auto recording = replay::load_recording(path);
  ASSERT_TRUE(recording) << recording.error().message;
  recording->info.simulated = false;
  recording->info.gpu.name = "NVIDIA GT200";
  recording->info.gpu.uuid = uuid;
  recording->info.driver_version = "580.1";
  std::ofstream(path) << replay::to_text(*recording);
}

class DiscoverSave : public ::testing::Test {
 protected:
  // `discover --save` of a replayed memory.
  Launch saving(const std::string& memory, std::vector<std::string> more) const {
    const std::string path = recordings_ / memory + ".json";
    record(path, memory);
    Launch launch;
    launch.arguments = {"discover", "--device", "replay:" + path, "--save", "--only", memory};
    launch.arguments.insert(launch.arguments.end(), more.begin(), more.end());
    launch.environment = {"GPUTOPO_STORE=" + store_.path()};
    return launch;
  }
  std::string file() const { return store_ / uuid + ".json"; }

  Folder recordings_, store_;
};

TEST_F(DiscoverSave, AReplayIsKeptWhereToldAlone) {
  const Outcome o = run_gputopo(saving("constant_l1", {}));
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("add --force"));
  EXPECT_THAT(store_.names(), ElementsAre());
  const Outcome forced = run_gputopo(saving("constant_l1", {"--force"}));
  EXPECT_EQ(forced.err, "saved as " + file() + "\n");
  EXPECT_THAT(store_.names(), ElementsAre(uuid + ".json"));
}

TEST_F(DiscoverSave, PartsAddUpAndShowTellsWhatIsOlder) {
  ASSERT_EQ(run_gputopo(saving("constant_l1", {"--force", "--quiet"})).exit_code, 0);
  auto older = parse_topology(contents(file()));
  ASSERT_TRUE(older);
  older->provenance.created = "2025-12-24T18:00:00Z";
  std::ofstream(file()) << to_json_text(*older);
  const Outcome second = run_gputopo(saving("texture", {"--force", "--quiet"}));
  EXPECT_THAT(second.exit_code, ::testing::AnyOf(0, 3)) << second.err;
  const auto both = parse_topology(contents(file()));
  ASSERT_TRUE(both);
  ASSERT_TRUE(both->find("texture") && both->find("constant_l1"));
  EXPECT_EQ(both->find("constant_l1")->created, "2025-12-24T18:00:00Z");
  const std::string shown = run_gputopo({"show", file()}).out;
  EXPECT_THAT(shown, HasSubstr("From earlier runs: constant_l1 (2025-12-24T18:00:00Z, replayed from a"));
}

TEST_F(DiscoverSave, TheStoresFileIsNoOtherOutput) {
  for (const char* option : {"-o", "--record", "--evidence"}) {
    const Outcome o = run_gputopo(saving("constant_l1", {"--force", option, file()}));
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_EQ(o.err, "gputopo: " + std::string(option) + " and --save name the same file; give each its own\n");
    EXPECT_THAT(store_.names(), ElementsAre());
  }
}

TEST_F(DiscoverSave, AnUnwritableStoreIsNoticedBeforeMeasuring) {
  Launch launch = saving("constant_l1", {"--force"});
  launch.environment = {"GPUTOPO_STORE=/proc/nowhere"};
  const Outcome o = run_gputopo(launch);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(o.err, HasSubstr("GPUTOPO_STORE"));
}

TEST_F(DiscoverSave, TheResultIsPrintedAlthoughSavingFails) {
  Launch launch = saving("constant_l1", {"--force"});
  launch.file_limit_bytes = 100;  // as a full disk: the folder can be written and the file can't
  const Outcome o = run_gputopo(launch);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.out, StartsWith("NVIDIA GT200 (replayed from "));
  EXPECT_THAT(o.out, HasSubstr("Constant L1"));
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  EXPECT_THAT(store_.names(), ElementsAre());
}

TEST(Discover, ForceAloneIsWrongUsage) {
  EXPECT_EQ(run_gputopo({"discover", "--device", "sim:gt200", "--force"}).exit_code, 2);
}

}  // namespace
}  // namespace gputopo::cli
