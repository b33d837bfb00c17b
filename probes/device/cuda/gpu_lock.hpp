// Processes of gputopo take turns on a GPU: side by side they would measure each other.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo::device::cuda {

struct GpuLockOptions {
  /// The first that takes a file is used. Both are there for every user, so that users exclude each other too.
  std::vector<std::string> folders{"/run/lock", "/tmp"};
  std::chrono::milliseconds patience{60'000};
  std::function<void(std::string_view)> waiting;  ///< told, in one line, when this has to wait
  std::function<void(std::string_view)> notice;   ///< told, in one line, how a wait ended; not of one that was stopped
  const std::atomic<bool>* stop = nullptr;        ///< ends the wait
};

/// An advisory lock (flock) on a file named after a GPU's UUID. The kernel releases it with the last descriptor, so
/// however the process ends. Within a process it is shared: whoever holds it there is the same gputopo.
class GpuLock {
 public:
  /// Waits for the GPU's turn. Never an error: whoever can't lock, or waited long enough, measures all the same; what a
  /// neighbour disturbs shows in the measurement.
  static std::shared_ptr<const GpuLock> acquire(const std::string& uuid, const GpuLockOptions& options);

  explicit GpuLock(int descriptor) : descriptor_(descriptor) {}
  GpuLock(const GpuLock&) = delete;
  GpuLock& operator=(const GpuLock&) = delete;
  ~GpuLock();

  bool is_held() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

}  // namespace gputopo::device::cuda
