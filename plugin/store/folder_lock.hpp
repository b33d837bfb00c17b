// One writer at a time in a store's folder, so that two parts that are saved at once both stay.
#pragma once

#include <cerrno>
#include <chrono>
#include <thread>

#include <sys/file.h>

#include "files/descriptor.hpp"
#include "stop/stop.hpp"

namespace gputopo::store {

/// Locks an opened folder itself: no file is left behind, and the lock goes with the process. Whoever may read a folder
/// can lock it, so nobody is waited for longer than `patience`; then, and where the file system has no locks, two
/// writers at once may each miss what the other adds, and still nobody sees half a file.
class FolderLock {
 public:
  explicit FolderLock(const files::Descriptor& folder) : folder_(folder) {
    constexpr std::chrono::milliseconds patience{3000}, pause{5};
    for (std::chrono::milliseconds waited{0}; flock(folder_.get(), LOCK_EX | LOCK_NB) != 0; waited += pause) {
      if (waited >= patience || (errno != EWOULDBLOCK && errno != EINTR)) return;
      stop::look();
      std::this_thread::sleep_for(pause);
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() { flock(folder_.get(), LOCK_UN); }

 private:
  const files::Descriptor& folder_;
};

}  // namespace gputopo::store
