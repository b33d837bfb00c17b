// What the component is, and what it does to hosts of every kind.
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "shell.hpp"

namespace gputopo {
namespace {

using testing::HasSubstr;

const std::string component = real_component + "/hwloc_gputopo.so";

TEST(SharedObject, NeedsHwlocAndTheCLibraryAlone) {
  std::istringstream lines(run("readelf -d " + component, {}).output);
  std::size_t needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == line.npos) continue;
    ++needed;
    EXPECT_THAT(line, testing::ContainsRegex("libhwloc\\.so|libc\\.so|libm\\.so|ld-linux|libpthread\\.so|libdl\\.so"));
  }
  EXPECT_GE(needed, 2U);
}

TEST(SharedObject, ExportsOneSymbol) {
  EXPECT_THAT(run("nm -D --defined-only " + component + " | cut -d' ' -f3", {}).output, "hwloc_gputopo_component\n");
}

TEST(SharedObject, IsSmallerThanOneMegabyte) {
  const std::string stripped = testing::TempDir() + "gputopo-stripped.so";
  ASSERT_EQ(run("strip -o " + stripped + " " + component, {}).status, 0);
  EXPECT_LT(std::filesystem::file_size(stripped), 1000000U);
  std::filesystem::remove(stripped);
}

TEST(SharedObject, ObeysNoVariableOfTheTests) {
  EXPECT_NE(run("grep -c GPUTOPO_TEST_ROOT " + component, {}).status, 0);
}

TEST(Hosts, ALocalHostLoadsItToo) {
  EXPECT_EQ(run(hosts + "/local", simulating("h200")).output, "misc=10\n");
}

TEST(Hosts, AHostWithoutGpuOrSimulationSeesStockHwloc) {
  const Variables stock{{"HWLOC_PLUGINS_PATH", GPUTOPO_HWLOC_PLUGINS}};
  Variables with = simulating("");
  with.erase("GPUTOPO_SIMULATE");
  const std::string all = "lstopo-no-graphics --of console -v - | grep -v total=";
  EXPECT_EQ(run(all, with).output, run(all, stock).output);
}

TEST(Hosts, AnElevatedProcessObeysNoVariable) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a set-user-id program";
  if (!has_program("setpriv")) GTEST_SKIP() << "no setpriv";
  std::string pattern = testing::TempDir() + "gputopo-elevated-XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern.data());
  std::filesystem::permissions(folder, std::filesystem::perms{0755});
  const std::string program = folder / "load";
  std::filesystem::copy_file(hosts + "/load", program);
  // Where this tree lies nobody else may be able to look.
  const std::string own = folder / "plugins";
  std::filesystem::copy(real_component, own);
  Variables variables = simulating("h200");
  variables["HWLOC_PLUGINS_PATH"] = plugins(own);
  variables["HWLOC_COMPONENTS_VERBOSE"] = "1";
  variables["GPUTOPO_STORE"] = folder / "store";
  const std::string as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups " + program;
  const std::string ordinary = run(as_nobody, variables).output;
  ASSERT_EQ(chown(program.c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  const std::string elevated = run(as_nobody, variables).output;
  // A file system mounted nosuid would make the program an ordinary one.
  const bool honours_suid =
      ("," + run("findmnt -n -o OPTIONS -T " + program, {}).output).find(",nosuid") == std::string::npos;
  std::filesystem::remove_all(folder);
  EXPECT_THAT(ordinary, HasSubstr("misc=10"));
  if (!honours_suid) GTEST_SKIP() << "the temporary folder honours no set-user-id bit";
  EXPECT_THAT(elevated, HasSubstr("misc=0"));
  EXPECT_THAT(elevated, testing::Not(HasSubstr("hwloc/gputopo:")));
  // It was loaded all the same.
  EXPECT_THAT(elevated, HasSubstr("Enabling discovery component `gputopo'"));
}

TEST(Hosts, MpiRanksLoadItInSilence) {
  Variables variables = simulating("h200");
  variables["OMPI_ALLOW_RUN_AS_ROOT"] = variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  variables["HOME"] = "/tmp";
  bool any = false;
  // The launchers load hwloc as well, to bind the ranks.
  for (const char* launcher : {"mpirun.openmpi --oversubscribe", "mpiexec.mpich -bind-to core"}) {
    if (!has_program(launcher)) continue;
    any = true;
    const Outcome outcome = run(std::string(launcher) + " -n 2 " + hosts + "/load", variables);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.output, testing::MatchesRegex("(devices=[0-9]+ misc=10 grown=[-0-9]+\n){2}")) << launcher;
  }
  if (!any) GTEST_SKIP() << "neither Open MPI nor MPICH";
}

TEST(Hosts, ValgrindFindsNoLeakOfOurs) {
  if (!has_program("valgrind")) GTEST_SKIP() << "no valgrind";
  Variables variables = simulating("h200");
  variables["HWLOC_PLUGINS_PATH"] = real_component;  // hwloc's other plugins have leaks of their own
  const Outcome outcome =
      run("valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all "
          "--error-exitcode=9 --quiet " +
              hosts + "/load 20",
          variables);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("misc=10"));
}

}  // namespace
}  // namespace gputopo
