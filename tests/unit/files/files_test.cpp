#include "files/files.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace gputopo::files {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 public:
  Files() : folder_(fs::temp_directory_path() / ("gputopo_files_" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
  }
  ~Files() override { fs::remove_all(folder_); }

 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string contents(const std::string& path) { return read_file(path, 1 << 20).value_or("unreadable"); }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(Files, WritesAndReplaces) {
  ASSERT_TRUE(write_atomically(path("a"), "one"));
  ASSERT_TRUE(write_atomically(path("a"), std::string(200000, 'x')));
  EXPECT_EQ(contents(path("a")), std::string(200000, 'x'));
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(Files, KeepsTheModeOfAnExistingFile) {
  std::ofstream(path("a")) << "old";
  fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_atomically(path("a"), "new"));
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, FollowsASymbolicLink) {
  std::ofstream(path("target")) << "old";
  fs::create_symlink(path("target"), path("link"));
  ASSERT_TRUE(write_atomically(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("target")), "new");
}

TEST_F(Files, FollowsASymbolicLinkToWhatIsNotThereYet) {
  fs::create_symlink("target", path("link"));
  ASSERT_TRUE(write_atomically(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("target")), "new");
}

TEST_F(Files, ACircleOfSymbolicLinksIsRefused) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_THAT(write_atomically(path("a"), "x").error().message, HasSubstr("Too many levels of symbolic links"));
  EXPECT_FALSE(check_writable(path("a")));
}

TEST_F(Files, TheLongestNameIsWritten) {
  const std::string longest(255, 'n');
  ASSERT_TRUE(write_atomically(path(longest), "x"));
  EXPECT_EQ(contents(path(longest)), "x");
  EXPECT_THAT(check_writable(path(longest + "n")).error().message, HasSubstr("File name too long"));
  EXPECT_FALSE(write_atomically(path(longest + "n"), "x"));
  EXPECT_EQ(file_count(), 1U);
}

// What an attacker could have put under the temporary file's name, had it been this one.
TEST_F(Files, WhatLiesUnderTheProcessNumberIsNotTouched) {
  const std::string guess = path(".a." + std::to_string(::getpid()) + ".tmp");
  std::ofstream(guess) << "prepared";
  ASSERT_TRUE(write_atomically(path("a"), "secret"));
  EXPECT_EQ(contents(guess), "prepared");
  EXPECT_EQ(contents(path("a")), "secret");
}

TEST_F(Files, TheOldFileStaysWhatItWasForWhoeverHasItOpen) {
  std::ofstream(path("a")) << "old";
  std::ifstream reader(path("a"));
  ASSERT_TRUE(write_atomically(path("a"), "new"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
}

// A folder as /tmp is, and in it what the user of number 12345 put there.
class SharedFolder : public Files {
 public:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "root alone can make another user's files";
    ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  }

 protected:
  static void give_away(const std::string& path) { ASSERT_EQ(::lchown(path.c_str(), 12345, 12345), 0); }
};

TEST_F(SharedFolder, AStrangersLinkIsNotFollowed) {
  std::ofstream(path("mine")) << "old";
  fs::create_symlink("mine", path("link"));
  give_away(path("link"));
  for (const auto& result : {write_atomically(path("link"), "x"), check_writable(path("link"))}) {
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("it is a symbolic link of user 12345's; choose another file"));
  }
  // Nor in a folder that is the stranger's own.
  give_away(folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_FALSE(write_atomically(path("link"), "x"));
  EXPECT_EQ(contents(path("mine")), "old");
}

TEST_F(SharedFolder, AStrangersPipeIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0666), 0);
  give_away(path("pipe"));
  EXPECT_THAT(write_atomically(path("pipe"), "x").error().message, HasSubstr("pipe or device of user 12345's"));
}

TEST_F(SharedFolder, AStrangersFileIsReplacedAndItsModeForgotten) {
  std::ofstream(path("a")) << "old";
  ASSERT_EQ(::chmod(path("a").c_str(), 04777), 0);
  give_away(path("a"));
  ASSERT_TRUE(write_atomically(path("a"), "new"));
  struct stat status {};
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
  EXPECT_EQ(status.st_mode & 07022U, 0U);
}

TEST_F(Files, NamesOfOneFileAreRecognised) {
  fs::create_symlink("a", path("link"));
  EXPECT_TRUE(lead_to_one_file({path("a")}, {path("./a")}));
  EXPECT_TRUE(lead_to_one_file({path("a")}, {path("link")})) << "also before there is such a file";
  EXPECT_FALSE(lead_to_one_file({path("a")}, {path("b")}));
  EXPECT_FALSE(holds_data({path("a")}));
  std::ofstream(path("a")) << "x";
  fs::create_hard_link(path("a"), path("b"));
  EXPECT_TRUE(lead_to_one_file({path("a")}, {path("b")}));
  EXPECT_TRUE(holds_data({path("b")}));
}

TEST_F(Files, WhatIsOpenAlreadyIsRecognised) {
  std::ofstream(path("a")) << "x";
  const Descriptor file = *open_for_reading(path("a"));
  EXPECT_TRUE(lead_to_one_file({{}, file.get()}, {path("a")}));
  EXPECT_TRUE(lead_to_one_file({{}, file.get()}, {"/proc/self/fd/" + std::to_string(file.get())}));
  EXPECT_FALSE(lead_to_one_file({{}, file.get()}, {path("b")}));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor in(ends[0]), out(ends[1]);
  EXPECT_TRUE(lead_to_one_file({{}, out.get()}, {"/proc/self/fd/" + std::to_string(out.get())}));
  EXPECT_FALSE(lead_to_one_file({{}, out.get()}, {path("a")}));
  EXPECT_FALSE(lead_to_one_file({"/dev/null"}, {"/dev/null"})) << "it holds nothing";
  EXPECT_FALSE(holds_data({"/dev/zero"}));
}

TEST_F(Files, AMissingFolderIsNamedAndNothingIsLeft) {
  for (const auto& result : {write_atomically(path("no/a"), "x"), check_writable(path("no/a"))}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, Error::Kind::io);
    EXPECT_THAT(result.error().message, HasSubstr("no/a': No such file or directory; create the folder"));
  }
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(Files, AFolderCannotBeWritten) {
  EXPECT_THAT(write_atomically(folder_.string(), "x").error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(check_writable(folder_.string()).error().message, HasSubstr("Is a directory"));
}

TEST_F(Files, AFullDeviceIsReportedAndStaysADevice) {
  const auto result = write_atomically("/dev/full", "x");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("No space left on device; free some space"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(Files, SpecialFilesAreWrittenDirectly) {
  ASSERT_TRUE(write_atomically("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// A file size limit makes write() fail half way, as a disk that fills up does.
TEST_F(Files, AWriteThatFailsHalfWayLeavesTheOldFile) {
  ASSERT_TRUE(write_atomically(path("a"), "old"));
  EXPECT_EXIT(
      {
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit{};
        limit.rlim_cur = 4096;
        limit.rlim_max = 4096;
        setrlimit(RLIMIT_FSIZE, &limit);
        const auto result = write_atomically(path("a"), std::string(100000, 'x'));
        const bool kept = contents(path("a")) == "old" && file_count() == 1;
        std::_Exit(!result && result.error().message.find("File too large") != std::string::npos && kept ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(Files, ReadingStopsAtTheLimit) {
  std::ofstream(path("a")) << std::string(1000, 'x');
  EXPECT_TRUE(read_file(path("a"), 1000));
  const auto result = read_file(path("a"), 999);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Error::Kind::bad_input);
  EXPECT_FALSE(read_file("/dev/zero", 1 << 20)) << "an endless file";
}

TEST_F(Files, ReadingWhatIsNotAFileFails) {
  EXPECT_THAT(read_file(path("none"), 10).error().message, HasSubstr("No such file"));
  EXPECT_THAT(read_file(folder_.string(), 10).error().message, HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace gputopo::files
