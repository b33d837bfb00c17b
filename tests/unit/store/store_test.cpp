#include "store/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fixture.hpp"

namespace gputopo::store {
namespace {

using testing::HasSubstr;

TEST(Store, GivesBackWhatWasSaved) {
  const TemporaryFolder folder;
  const Environment e = environment_with(folder.path() + "/a/new/one");
  const auto path = save(small_topology(), e);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path->path, folder.path() + "/a/new/one/" + test_uuid + ".json");
  const Lookup found = load(test_uuid, test_driver, e);
  ASSERT_TRUE(found.topology);
  EXPECT_EQ(*found.topology, small_topology());
  EXPECT_EQ(found.path, path->path);
}

TEST(Store, ReplacesWhatWasThereAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const Environment e = environment_with(folder.path());
  ASSERT_TRUE(save(small_topology(), e));
  Topology newer = small_topology();
  newer.gpu.sm_count = 8;
  ASSERT_TRUE(save(newer, e));
  EXPECT_EQ(load(test_uuid, test_driver, e).topology->gpu.sm_count, 8U);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1U);
}

TEST(Store, FilesAreReadableByAllAndWritableByTheOwnerWhateverTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = umask(077);
  const auto path = save(small_topology(), environment_with(folder.path()));
  umask(before);
  ASSERT_TRUE(path);
  struct stat status {};
  ASSERT_EQ(stat(path->path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
}

TEST(Store, AnEmptyStoreHasNothingAndNothingToComplainOf) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path(), folder.path() + "/absent"}) {
    const Lookup found = load(test_uuid, test_driver, environment_with(path));
    EXPECT_FALSE(found.topology);
    EXPECT_TRUE(found.refusals.empty());
  }
}

TEST(Store, FallsBackToTheUsersFolder) {
  const TemporaryFolder folder;
  Environment e;
  e.user = geteuid();
  e.system = folder.path() + "/file/system";
  e.xdg_cache_home = folder.path();
  write_file(folder.path() + "/file", "in the way: the system's folder can't be made");
  const auto path = save(small_topology(), e);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path->path, folder.path() + "/gputopo/" + test_uuid + ".json");
  EXPECT_TRUE(load(test_uuid, test_driver, e).topology);
}

TEST(Store, ASystemFileOfAnotherDriverGivesWayToTheUsers) {
  const TemporaryFolder folder;
  Environment e;
  e.user = geteuid();
  e.system = folder.path() + "/system";
  e.xdg_cache_home = folder.path();
  Topology old = small_topology();
  old.provenance.driver_version = "470.1";
  ASSERT_TRUE(save(old, environment_with(e.system)));
  ASSERT_TRUE(save(small_topology(), environment_with(folder.path() + "/gputopo")));
  const Lookup found = load(test_uuid, test_driver, e);
  ASSERT_TRUE(found.topology);
  ASSERT_EQ(found.refusals.size(), 1U);
  EXPECT_THAT(found.refusals[0], HasSubstr("measured under driver 470.1, and driver 580.159.04 is running"));
}

TEST(Store, WontSaveWithoutAUuid) {
  const TemporaryFolder folder;
  for (const char* uuid : {"", "GPU-", "GPU-../../etc/passwd", "GPU-a/b", "MIG-1", "GPU-\n"}) {
    Topology t = small_topology();
    t.gpu.uuid = uuid;
    EXPECT_FALSE(save(t, environment_with(folder.path()))) << uuid;
  }
}

TEST(Store, WontSaveWhatItWouldNotLoad) {
  const TemporaryFolder folder;
  const Environment e = environment_with(folder.path());
  Topology umlaut = small_topology();
  umlaut.gpu.name = "M\xc3\xbcller";
  EXPECT_FALSE(save(umlaut, e));
  Topology large = small_topology();
  large.provenance.notes.assign(100, std::string(20000, 'n'));
  const auto saved = save(large, e);
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, HasSubstr("over the store's limit"));
}

TEST(Store, SaysEveryReasonWhereNothingCanBeWritten) {
  const TemporaryFolder folder;
  write_file(folder.path() + "/file", "");
  const auto saved = save(small_topology(), environment_with(folder.path() + "/file/store"));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind, Error::Kind::io);
  EXPECT_THAT(saved.error().message, HasSubstr("Not a directory"));
  EXPECT_THAT(saved.error().message, HasSubstr("GPUTOPO_STORE"));
}

TEST(Store, WontSaveIntoAFolderThatOthersCanWrite) {
  const TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  const auto saved = save(small_topology(), environment_with(folder.path()));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().message,
            "can't save: " + folder.path() + " is writable by others (mode 0777); run chmod go-w on it");
}

}  // namespace
}  // namespace gputopo::store
