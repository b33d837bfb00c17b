#include "store/environment.hpp"

#include <cstdlib>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::store {
namespace {

using testing::ElementsAre;

TEST(Folders, TheSystemsComesFirstAndTheUsersSecond) {
  Environment e;
  e.xdg_cache_home = "/home/ada/cache";
  e.home = "/home/ada";
  EXPECT_THAT(folders(e), ElementsAre("/var/lib/gputopo", "/home/ada/cache/gputopo"));
}

TEST(Folders, WithoutXdgCacheHomeTheUsersIsInTheHomeFolder) {
  Environment e;
  e.home = "/home/ada";
  EXPECT_THAT(folders(e), ElementsAre("/var/lib/gputopo", "/home/ada/.cache/gputopo"));
}

TEST(Folders, RelativeCacheFoldersAreIgnored) {
  Environment e;
  e.xdg_cache_home = "cache";
  EXPECT_THAT(folders(e), ElementsAre("/var/lib/gputopo"));
}

TEST(Folders, GputopoStoreReplacesAll) {
  Environment e;
  e.store = "/srv/store";
  e.home = "/home/ada";
  EXPECT_THAT(folders(e), ElementsAre("/srv/store"));
}

TEST(Folders, AnElevatedProcessReadsTheSystemsAlone) {
  Environment e;
  e.elevated = true;
  e.store = "/srv/store";
  e.xdg_cache_home = "/home/ada/cache";
  EXPECT_THAT(folders(e), ElementsAre("/var/lib/gputopo"));
}

TEST(TrustsOwner, RootAndOneself) {
  Environment e;
  e.user = 1000;
  EXPECT_TRUE(trusts_owner(e, 0));
  EXPECT_TRUE(trusts_owner(e, 1000));
  EXPECT_FALSE(trusts_owner(e, 1001));
  e.elevated = true;
  EXPECT_TRUE(trusts_owner(e, 0));
  EXPECT_FALSE(trusts_owner(e, 1000));
}

TEST(ProcessEnvironment, TakesWhatIsSetAndTreatsEmptyAsUnset) {
  setenv("GPUTOPO_STORE", "/srv/store", 1);
  setenv("GPUTOPO_SIMULATE", "", 1);
  const Environment e = process_environment();
  unsetenv("GPUTOPO_STORE");
  unsetenv("GPUTOPO_SIMULATE");
  EXPECT_FALSE(e.elevated);
  EXPECT_EQ(e.user, geteuid());
  EXPECT_EQ(e.store, "/srv/store");
  EXPECT_FALSE(e.simulate);
}

// What a root daemon does while it acts for a user, and what a set-user-id program looks like.
TEST(ProcessEnvironment, ObeysNothingWhereTheIdsDiffer) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can change its ids";
  const char* const variables[] = {"GPUTOPO_STORE", "GPUTOPO_SIMULATE", "HWLOC_COMPONENTS_VERBOSE",
                                   "HWLOC_ANNOTATE_GLOBAL_COMPONENTS"};
  for (const char* name : variables) setenv(name, "1", 1);
  const Environment ordinary = process_environment();
  EXPECT_TRUE(ordinary.verbose && ordinary.annotate_any_topology && ordinary.simulate && ordinary.store);
  ASSERT_EQ(seteuid(65534), 0);
  const Environment e = process_environment();
  ASSERT_EQ(seteuid(0), 0);
  for (const char* name : variables) unsetenv(name);
  EXPECT_FALSE(e.verbose);
  EXPECT_FALSE(e.annotate_any_topology);
  EXPECT_TRUE(e.elevated);
  EXPECT_FALSE(e.store);
  EXPECT_FALSE(e.simulate);
  EXPECT_FALSE(e.home);
}

}  // namespace
}  // namespace gputopo::store
