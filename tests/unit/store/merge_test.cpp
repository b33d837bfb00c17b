#include "store/merge.hpp"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "files/descriptor.hpp"
#include "fixture.hpp"
#include "store/store.hpp"

namespace gputopo::store {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* first_day = "2026-01-01T10:00:00Z";
constexpr const char* second_day = "2026-01-02T10:00:00Z";

Memory memory_with(const std::string& id, const std::vector<std::string>& attributes, double value = 1024) {
  Memory m;
  m.id = id;
  for (const std::string& name : attributes)
    m.attributes[name] = {value, "B", Status::measured, "residency", {}, {}, 1, {}};
  return m;
}

Topology run_of(const std::string& created, std::vector<Memory> memories) {
  Topology t = small_topology();
  t.provenance.created = created;
  t.memories = std::move(memories);
  return t;
}

std::vector<std::string> ids(const Topology& t) {
  std::vector<std::string> list;
  for (const Memory& m : t.memories) list.push_back(m.id);
  return list;
}

// Saves one run after the other and gives back what is stored then.
Topology saved(const std::vector<Topology>& runs, std::vector<std::string>* remarks = nullptr) {
  const TemporaryFolder folder;
  const Environment e = environment_with(folder.path());
  for (const Topology& run : runs) {
    const auto done = save(run, e);
    EXPECT_TRUE(done) << done.error().message;
    if (done && remarks != nullptr) *remarks = done->remarks;
  }
  return load(test_uuid, test_driver, e).topology.value();
}

TEST(Merge, PartsAddUpEachWithItsOwnDate) {
  const Topology t = saved({run_of(first_day, {memory_with("l1", {"size", "latency"}), memory_with("l2", {"size"})}),
                            run_of(second_day, {memory_with("shared", {"size"})})});
  EXPECT_THAT(ids(t), ElementsAre("l1", "l2", "shared"));
  EXPECT_EQ(t.provenance.created, second_day);
  EXPECT_EQ(t.find("l1")->created, first_day);
  EXPECT_EQ(t.find("shared")->created, "");
  ASSERT_EQ(t.earlier_runs.size(), 1U);
  EXPECT_EQ(t.run_of(*t.find("l2")).created, first_day);
  EXPECT_EQ(t.run_of(*t.find("shared")).created, second_day);
}

TEST(Merge, ARunWithoutMemoriesLeftIsForgotten) {
  const Topology t =
      saved({run_of(first_day, {memory_with("l1", {"size"})}), run_of(second_day, {memory_with("l2", {"size"})}),
             run_of("2026-01-03T10:00:00Z", {memory_with("l1", {"size"})})});
  ASSERT_EQ(t.earlier_runs.size(), 1U);
  EXPECT_EQ(t.earlier_runs.front().created, second_day);
}

TEST(Merge, AMemoryThatTheRunKnowsLessOfStaysAndIsNamed) {
  Memory poorer = memory_with("l1", {"size", "latency"}, 2048);
  poorer.attributes["latency"] = {{}, "cycles", Status::inconclusive, "lap", {}, {}, 0, "noise"};
  std::vector<std::string> remarks;
  const Topology t = saved({run_of(first_day, {memory_with("l1", {"size", "latency"})}),
                            run_of(second_day, {poorer, memory_with("l2", {"size"})})},
                           &remarks);
  EXPECT_EQ(t.find("l1")->find("size")->value, 1024);
  EXPECT_EQ(t.find("l1")->created, first_day);
  EXPECT_THAT(remarks, ElementsAre("l1 stays as measured at 2026-01-01T10:00:00Z: this run has no latency; --force "
                                   "replaces it"));
}

TEST(Merge, WhatWasFoundOfAMemoryBesideItsAttributesCountsToo) {
  const auto lost_by = [](auto&& add) {
    Topology before = run_of(first_day, {memory_with("l1", {"size"})});
    add(before);
    const Merged merged = merge(before, run_of(second_day, {memory_with("l1", {"size"})}), false);
    EXPECT_FALSE(merged.changed);
    EXPECT_EQ(merged.topology, before);
    return merged.kept.empty() ? std::string() : merged.kept.front().reason;
  };
  EXPECT_EQ(lost_by([](Topology& t) { t.memories[0].structure["scope"] = {"sm", Status::measured, "x", {}, 1, {}}; }),
            "this run has no scope");
  EXPECT_EQ(lost_by([](Topology& t) { t.memories[0].sm_groups = {{0, 1}}; }), "this run has no sm_groups");
  EXPECT_EQ(lost_by([](Topology& t) { t.memories[0].warp_instances = {0, 1}; }), "this run has no warp_instances");
  EXPECT_EQ(lost_by([](Topology& t) { t.memories[0].disturbance = {0.5}; }), "this run has no disturbance");
  EXPECT_EQ(lost_by([](Topology& t) {
              t.memories[0].carve_outs = {{50, {}, *t.memories[0].find("size"), {}}};
            }),
            "this run has no carve_outs");
  EXPECT_EQ(lost_by([](Topology& t) {
              t.crosscheck = {{"l1", "misses", 1, 1, 1, 1, "equal"}};
            }),
            "this run has no check against counters");
}

TEST(Merge, ABoundIsLessThanAValueAndMoreThanNothing) {
  const auto size = [](Status status) {
    Memory m = memory_with("l1", {"size"});
    m.attributes["size"].status = status;
    return m;
  };
  const auto is_replaced = [&](Status before, Status now) {
    return merge(run_of(first_day, {size(before)}), run_of(second_day, {size(now)}), false).kept.empty();
  };
  EXPECT_FALSE(is_replaced(Status::measured, Status::api));
  EXPECT_FALSE(is_replaced(Status::api, Status::lower_bound));
  EXPECT_FALSE(is_replaced(Status::lower_bound, Status::inconclusive));
  EXPECT_TRUE(is_replaced(Status::lower_bound, Status::upper_bound));
  EXPECT_TRUE(is_replaced(Status::not_supported, Status::measured));
  EXPECT_TRUE(is_replaced(Status::measured, Status::measured));
}

TEST(Merge, ForcedAPoorerRunTakesThePlace) {
  const Merged merged = merge(run_of(first_day, {memory_with("l1", {"size", "latency"}), memory_with("l2", {"size"})}),
                              run_of(second_day, {memory_with("l1", {"size"})}), true);
  EXPECT_EQ(merged.topology.find("l1")->find("latency"), nullptr);
  EXPECT_THAT(merged.kept, IsEmpty());
  EXPECT_EQ(merged.topology.find("l2")->created, first_day) << "parts stay";
}

TEST(Merge, ADisturbedRunsMemoryGivesWayToAnUndisturbedOnes) {
  Topology before = run_of(first_day, {memory_with("l1", {"size", "latency"}), memory_with("l2", {"size"})});
  for (const char* how : {"shared", "replayed"}) {
    before.provenance.device = std::string(how) == "replayed" ? "replay" : "cuda";
    before.provenance.shared_gpu = std::string(how) == "shared" ? "somebody computed" : "";
    const Merged merged = merge(before, run_of(second_day, {memory_with("l1", {"size"}, 2048)}), false);
    EXPECT_EQ(merged.topology.find("l1")->find("size")->value, 2048) << how;
    EXPECT_EQ(merged.topology.run_of(*merged.topology.find("l2")), before.provenance)
        << how << ", and it still says so";
  }
}

TEST(Merge, WhatTheRunLeftOpenOfPairsAndPlacesStays) {
  Topology before = run_of(first_day, {memory_with("l1", {"size"}), memory_with("texture", {"size"})});
  before.sharing = {{"l1", "texture", "same", {}}, {"l1", "read_only", "same", {}}};
  before.sm_places = {{0, 0, {}, 1, {}}};
  Topology now = run_of(second_day, {memory_with("l1", {"size"})});
  now.sharing = {{"l1", "texture", "inconclusive", {}}, {"l1", "read_only", "apart", {}}};
  const Topology t = merge(before, now, false).topology;
  EXPECT_EQ(t.sharing, (std::vector<SharingCheck>{{"l1", "texture", "same", {}}, {"l1", "read_only", "apart", {}}}));
  EXPECT_EQ(t.sm_places, before.sm_places);
}

TEST(Save, AReplayOrARunBesideOthersIsKeptWhereToldAlone) {
  Topology replay = run_of(first_day, {memory_with("l1", {"size"})});
  replay.provenance.device = "replay";
  Topology shared = run_of(first_day, {memory_with("l1", {"size"})});
  shared.provenance.interruptions = Interruptions{1, 0.5, 100, 1, 0};
  for (const auto& [run, why] : {std::pair{replay, "it is a replay"}, std::pair{shared, "others used the GPU"}}) {
    const TemporaryFolder folder;
    const Environment e = environment_with(folder.path());
    const auto refused = save(run, e);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(why));
    EXPECT_THAT(refused.error().message, HasSubstr("--force"));
    EXPECT_FALSE(load(test_uuid, test_driver, e).topology);
    EXPECT_TRUE(save(run, e, true));
    EXPECT_TRUE(load(test_uuid, test_driver, e).topology);
  }
}

TEST(Save, ASimulatedGpuIsNeverKept) {
  const TemporaryFolder folder;
  Topology t = small_topology();
  t.provenance.simulated = true;
  EXPECT_FALSE(save(t, environment_with(folder.path()), true));
}

TEST(Save, AFileOfAnotherDriverIsReplacedAndThatIsSaid) {
  const TemporaryFolder folder;
  const Environment e = environment_with(folder.path());
  Topology old = small_topology();
  old.provenance.driver_version = "470.1";
  ASSERT_TRUE(save(old, e));
  const auto done = save(run_of(second_day, {memory_with("l1", {"size"})}), e);
  ASSERT_TRUE(done);
  EXPECT_THAT(done->remarks, ElementsAre(HasSubstr("what was stored is replaced: it was measured under driver 470.1")));
}

// What is refused can be worth mending: a whole discovery that others may write, say.
TEST(Save, AFileThatIsRefusedIsKeptAsideAndThatIsSaid) {
  namespace fs = std::filesystem;
  const std::string name = std::string(test_uuid) + ".json", whole = to_json_text(small_topology());
  const std::vector<std::tuple<std::function<void(const fs::path&)>, std::string>> cases{
      {[&](const fs::path& path) {
         write_file(path, whole);
         fs::permissions(path, fs::perms{0666});
       },
       "is writable by others (mode 0666)"},
      {[&](const fs::path& path) { write_file(path, whole.substr(0, whole.size() / 2)); }, "not a gputopo topology"},
      {[&](const fs::path& path) { write_file(path, std::string((1 << 20) + 1, ' ')); }, "is over 1048576 bytes"},
      {[&](const fs::path& path) { fs::create_symlink("elsewhere", path); }, "is not a regular file"},
      {[&](const fs::path& path) { ASSERT_EQ(mkfifo(path.c_str(), 0644), 0); }, "is not a regular file"},
      {[&](const fs::path& path) { fs::create_directory(path); }, "is not a regular file"}};
  for (const auto& [make, why] : cases) {
    const TemporaryFolder folder;
    const Environment e = environment_with(folder.path());
    const fs::path file = fs::path(folder.path()) / name, aside = file.string() + ".refused";
    write_file(folder.path() + "/elsewhere", "not to be touched");
    make(file);
    const auto type = fs::symlink_status(file);
    const auto size = type.type() == fs::file_type::regular ? fs::file_size(file) : 0;
    const auto done = save(small_topology(), e);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_THAT(done->remarks,
                ElementsAre(HasSubstr("what was stored is now " + aside.string() + ", since it was refused: ")));
    EXPECT_THAT(done->remarks.front(), HasSubstr(why));
    EXPECT_TRUE(load(test_uuid, test_driver, e).topology);
    EXPECT_EQ(fs::symlink_status(aside), type) << why;
    if (type.type() == fs::file_type::regular) {
      EXPECT_EQ(fs::file_size(aside), size);
    }
    std::ifstream elsewhere(folder.path() + "/elsewhere");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(elsewhere), {}), "not to be touched");
  }
}

TEST(Save, WhatIsKeptAsideStaysBesideWhatFollows) {
  const TemporaryFolder folder;
  const Environment e = environment_with(folder.path());
  const std::string file = folder.path() + "/" + test_uuid + ".json";
  for (const char* end : {".refused", ".refused.2", ".refused.3"}) {
    write_file(file, end);
    ASSERT_TRUE(save(small_topology(), e));
    std::ifstream aside(file + end);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(aside), {}), end);
  }
  for (int n = 4; n < 100; ++n) write_file(file + ".refused." + std::to_string(n), "");
  write_file(file, "the last");
  const auto full = save(small_topology(), e);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("there are 99 refused files beside " + file + " already; remove"));
  std::ifstream last(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(last), {}), "the last");
}

TEST(Save, WhereNothingCanBeWrittenWhatIsRefusedStaysWhereItIs) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/" + test_uuid + ".json";
  write_file(file, "{");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto saved = save(small_topology(), environment_with(folder.path()));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, EndsWith("File too large; raise the limit on the size of files (ulimit -f)"));
  std::ifstream kept(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "{");
  EXPECT_FALSE(std::filesystem::exists(file + ".refused"));
}

TEST(Save, OfPartsThatAreSavedAtOnceNoneIsLost) {
  const TemporaryFolder folder;
  const Environment e = environment_with(folder.path());
  const std::vector<std::string> parts{"l1", "texture", "read_only", "constant_l1", "constant_l1_5", "l2", "shared"};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < parts.size(); ++i)
    threads.emplace_back([&, i] {
      EXPECT_TRUE(save(run_of("2026-01-01T10:00:0" + std::to_string(i) + "Z", {memory_with(parts[i], {"size"})}), e));
    });
  for (std::thread& thread : threads) thread.join();
  const auto found = load(test_uuid, test_driver, e).topology;
  ASSERT_TRUE(found);
  EXPECT_EQ(ids(*found), parts);
  EXPECT_EQ(found->earlier_runs.size(), parts.size() - 1);
}

TEST(Save, SomebodyWhoHoldsTheFolderLockedIsNotWaitedForForEver) {
  const TemporaryFolder folder;
  const files::Descriptor other(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  EXPECT_TRUE(save(small_topology(), environment_with(folder.path())));
}

TEST(Writable, ToldBeforeAnythingIsMadeAndNothingIs) {
  const TemporaryFolder folder;
  EXPECT_TRUE(check_writable(environment_with(folder.path())));
  EXPECT_TRUE(check_writable(environment_with(folder.path() + "/a/new/one")));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/a"));
  write_file(folder.path() + "/file", "");
  for (const std::string& path : {folder.path() + "/file", folder.path() + "/file/store", std::string("/proc/store")}) {
    const auto refused = check_writable(environment_with(path));
    ASSERT_FALSE(refused) << path;
    EXPECT_THAT(refused.error().message, HasSubstr("set GPUTOPO_STORE"));
  }
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_FALSE(check_writable(environment_with(folder.path()))) << "a folder that others can write";
}

}  // namespace
}  // namespace gputopo::store
