// A one-line progress bar on stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo::cli {

/// "[#########.............]  43 %  L2 size", at most `width` columns.
std::string progress_line(double done, std::string_view label, int width);

/// Draws over its own line, at most 20 times a second, and removes it in the destructor. Draws nothing unless enabled.
class ProgressBar {
 public:
  explicit ProgressBar(bool enabled) : enabled_(enabled) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }
  void show(double done, std::string_view label);
  void clear();

 private:
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

/// One bar for GPUs that are measured at once, each on a thread of its own: the mean of what all have done.
class JointProgress {
 public:
  JointProgress(bool enabled, std::size_t gpus) : bar_(enabled), done_(gpus, 0) {}
  /// GPU number `gpu`, below `gpus`, has done a share of its work.
  void show(std::size_t gpu, double done, std::string_view label);

 private:
  std::mutex mutex_;
  ProgressBar bar_;
  std::vector<double> done_;
};

}  // namespace gputopo::cli
