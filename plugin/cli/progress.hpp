// A one-line progress bar on stderr.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gputopo::cli {

/// "[#########.............]  43 %  1.7 s  L2 size", at most `width` columns.
std::string progress_line(double done, double seconds, std::string_view label, int width);

/// Draws over its own line ten times a second, from a thread of its own: also while nothing is told. Removes the line
/// in the destructor. Draws nothing unless enabled.
class ProgressBar {
 public:
  explicit ProgressBar(bool enabled) : enabled_(enabled) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }
  void show(double done, std::string_view label);
  /// Until show() is called again.
  void clear();

 private:
  void draw_until(const std::stop_token& stop);

  const bool enabled_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  // of what follows
  double done_ = 0;
  std::string label_;
  std::condition_variable_any stopped_;
  std::jthread drawing_;
};

/// One bar for GPUs that are measured at once, each on a thread of its own: the mean of what all have done.
class JointProgress {
 public:
  JointProgress(bool enabled, std::size_t gpus) : bar_(enabled), done_(gpus, 0) {}
  /// GPU number `gpu`, below `gpus`, has done a share of its work.
  void show(std::size_t gpu, double done, std::string_view label);
  /// Leaves the line to others until the next show().
  void clear() { bar_.clear(); }

 private:
  std::mutex mutex_;
  ProgressBar bar_;
  std::vector<double> done_;
};

}  // namespace gputopo::cli
