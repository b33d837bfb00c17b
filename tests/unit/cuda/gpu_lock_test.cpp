// Two processes and one GPU. The other process is this test's own child.
#include "device/cuda/gpu_lock.hpp"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace gputopo::device::cuda {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::ElementsAre;

class GpuLocks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("gputopo_lock_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
    options_.folders = {folder_.string()};
    options_.patience = 200ms;
    options_.waiting = [this](std::string_view line) { waits_.emplace_back(line); };
    options_.notice = [this](std::string_view line) { said_.emplace_back(line); };
  }
  void TearDown() override {
    if (child_ > 0) end_child();
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return (folder_ / "gputopo-GPU-1.lock").string(); }

  // A process that takes the lock, says so, and lives until it is ended or `lifetime` is over.
  void start_holder(std::chrono::milliseconds lifetime = 60s) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      const auto lock = GpuLock::acquire("GPU-1", options_);
      const char held = lock->is_held() ? '1' : '0';
      if (::write(ready[1], &held, 1) != 1) ::_exit(1);
      ::usleep(static_cast<useconds_t>(std::chrono::microseconds(lifetime).count()));
      ::_exit(0);  // without any destructor
    }
    char held = 0;
    ASSERT_EQ(::read(ready[0], &held, 1), 1);
    ASSERT_EQ(held, '1');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  void end_child() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

  std::filesystem::path folder_;
  GpuLockOptions options_;
  std::vector<std::string> waits_, said_;
  pid_t child_ = 0;
};

TEST_F(GpuLocks, KeepASecondProcessWaitingForABoundedTime) {
  start_holder();
  const auto begin = Clock::now();
  EXPECT_FALSE(GpuLock::acquire("GPU-1", options_)->is_held());
  EXPECT_GE(Clock::now() - begin, 200ms);
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_THAT(waits_, ElementsAre("waiting for another gputopo on this GPU"));
  EXPECT_THAT(said_, ElementsAre("another gputopo still uses this GPU; measuring beside it"));
  waits_.clear();
  said_.clear();
  EXPECT_TRUE(GpuLock::acquire("GPU-2", options_)->is_held()) << "another GPU is free";
  EXPECT_TRUE(waits_.empty() && said_.empty());
}

TEST_F(GpuLocks, PassToTheNextProcessAsSoonAsTheFirstEnds) {
  start_holder(300ms);
  options_.patience = 30s;
  const auto begin = Clock::now();
  EXPECT_TRUE(GpuLock::acquire("GPU-1", options_)->is_held());
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_THAT(waits_, ElementsAre("waiting for another gputopo on this GPU"));
  EXPECT_THAT(said_, ElementsAre("waited for another gputopo on this GPU"));
}

TEST_F(GpuLocks, AreReleasedByAProcessThatIsKilled) {
  start_holder();
  end_child();
  EXPECT_TRUE(GpuLock::acquire("GPU-1", options_)->is_held());
  EXPECT_TRUE(said_.empty());
}

TEST_F(GpuLocks, EndTheirWaitOnAStop) {
  start_holder();
  options_.patience = 30s;
  const std::atomic<bool> stop{true};
  options_.stop = &stop;
  const auto begin = Clock::now();
  EXPECT_FALSE(GpuLock::acquire("GPU-1", options_)->is_held());
  EXPECT_LT(Clock::now() - begin, 5s);
}

TEST_F(GpuLocks, AreSharedWithinAProcess) {
  const auto one = GpuLock::acquire("GPU-1", options_);
  const auto same = GpuLock::acquire("GPU-1", options_);
  EXPECT_EQ(one, same);
  EXPECT_TRUE(said_.empty());
}

TEST_F(GpuLocks, AreOpenToEveryUserWhateverTheUmask) {
  const mode_t before = ::umask(077);
  const auto lock = GpuLock::acquire("GPU-1", options_);
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0666U);
}

TEST_F(GpuLocks, FollowNoLinkAndOpenNoPipe) {
  const std::string victim = (folder_ / "victim").string();
  ::close(::open(victim.c_str(), O_CREAT | O_WRONLY, 0600));
  ASSERT_EQ(::symlink(victim.c_str(), path().c_str()), 0);
  EXPECT_FALSE(GpuLock::acquire("GPU-1", options_)->is_held());
  struct stat status {};
  ASSERT_EQ(::stat(victim.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U) << "what the link points to is left alone";
  ::unlink(path().c_str());
  ASSERT_EQ(::link(victim.c_str(), path().c_str()), 0);
  EXPECT_FALSE(GpuLock::acquire("GPU-1", options_)->is_held()) << "another file's second name";
  ::unlink(path().c_str());
  ASSERT_EQ(::mkfifo(path().c_str(), 0666), 0);
  EXPECT_FALSE(GpuLock::acquire("GPU-1", options_)->is_held());
}

TEST_F(GpuLocks, TakeTheFirstFolderThatWorksAndDoWithoutWhereNoneDoes) {
  options_.folders = {(folder_ / "missing").string(), folder_.string()};
  EXPECT_TRUE(GpuLock::acquire("GPU-1", options_)->is_held());
  EXPECT_TRUE(std::filesystem::exists(path()));
  options_.folders.pop_back();
  EXPECT_FALSE(GpuLock::acquire("GPU-3", options_)->is_held());
  options_.folders = {folder_.string()};
  EXPECT_FALSE(GpuLock::acquire("", options_)->is_held()) << "a GPU without a name";
  EXPECT_TRUE(GpuLock::acquire("../GPU/4", options_)->is_held());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "gputopo-..__GPU_4.lock") ||
              std::filesystem::exists(folder_ / "gputopo-.._GPU_4.lock"));
}

}  // namespace
}  // namespace gputopo::device::cuda
