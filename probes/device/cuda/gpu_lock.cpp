#include "device/cuda/gpu_lock.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

namespace gputopo::device::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_tries{20};

// A folder that everybody may write into can hold anything under the name: a link, a pipe, another file's second name.
bool is_plain_file(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

// Read-only is enough for flock. An existing file is opened without O_CREAT: the kernel refuses that flag for other
// users' files in such folders (fs.protected_regular).
int open_lock_file(const std::string& path) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  constexpr mode_t for_everybody = 0666;
  for (int attempt = 0; attempt < 3; ++attempt) {
    int descriptor = ::open(path.c_str(), flags);
    if (descriptor < 0 && errno == ENOENT) {
      descriptor = ::open(path.c_str(), flags | O_CREAT | O_EXCL, for_everybody);
      if (descriptor < 0 && errno == EEXIST) continue;                              // another process was faster
      if (descriptor >= 0) static_cast<void>(::fchmod(descriptor, for_everybody));  // whatever the umask left of it
    }
    if (descriptor < 0 || is_plain_file(descriptor)) return descriptor;
    ::close(descriptor);
    return -1;
  }
  return -1;
}

int open_in_first(const std::vector<std::string>& folders, const std::string& name) {
  for (const std::string& folder : folders)
    if (const int descriptor = open_lock_file(folder + '/' + name); descriptor >= 0) return descriptor;
  return -1;
}

bool try_lock(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

void tell(const std::function<void(std::string_view)>& somebody, std::string_view line) {
  if (somebody) somebody(line);
}

// True when the lock is held; false after the patience, a stop, or an error other than 'held by another'.
bool wait_for_turn(int descriptor, const GpuLockOptions& options) {
  if (try_lock(descriptor)) return true;
  if (errno != EWOULDBLOCK && errno != EINTR) return false;
  tell(options.waiting, "waiting for another gputopo on this GPU");
  const auto until = Clock::now() + options.patience;
  while (Clock::now() < until) {
    if (options.stop != nullptr && *options.stop) return false;
    std::this_thread::sleep_for(between_tries);
    if (!try_lock(descriptor)) continue;
    tell(options.notice, "waited for another gputopo on this GPU");
    return true;
  }
  tell(options.notice, "another gputopo still uses this GPU; measuring beside it");
  return false;
}

std::string file_name(const std::string& uuid) {
  std::string name = "gputopo-" + uuid + ".lock";
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return name;
}

}  // namespace

GpuLock::~GpuLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::shared_ptr<const GpuLock> GpuLock::acquire(const std::string& uuid, const GpuLockOptions& options) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const GpuLock>> held;
  const std::lock_guard guard(mutex);
  const std::string name = file_name(uuid);
  if (auto lock = held[name].lock()) return lock;
  int descriptor = uuid.empty() ? -1 : open_in_first(options.folders, name);
  if (descriptor >= 0 && !wait_for_turn(descriptor, options)) {
    ::close(descriptor);
    descriptor = -1;
  }
  auto lock = std::make_shared<const GpuLock>(descriptor);
  if (lock->is_held()) held[name] = lock;
  return lock;
}

}  // namespace gputopo::device::cuda
