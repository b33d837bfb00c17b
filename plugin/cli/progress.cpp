#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <fmt/format.h>

namespace gputopo::cli {

std::string progress_line(double done, std::string_view label, int width) {
  constexpr int bar_width = 30;
  const double share = done > 0 ? std::min(done, 1.0) : 0.0;  // also for NaN
  const int filled = static_cast<int>(share * bar_width);
  std::string line = fmt::format("[{}{}] {:3.0f} %  {}", std::string(static_cast<std::size_t>(filled), '#'),
                                 std::string(static_cast<std::size_t>(bar_width - filled), '.'), share * 100, label);
  if (line.size() > static_cast<std::size_t>(width)) line.resize(static_cast<std::size_t>(width));
  return line;
}

void ProgressBar::show(double done, std::string_view label) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  drawn_ = true;
  std::fputs(("\r\033[K" + progress_line(done, label, 79)).c_str(), stderr);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void JointProgress::show(std::size_t gpu, double done, std::string_view label) {
  const std::lock_guard lock(mutex_);
  done_[gpu] = done;
  const double mean = std::accumulate(done_.begin(), done_.end(), 0.0) / static_cast<double>(done_.size());
  bar_.show(mean, done_.size() == 1 ? std::string(label) : fmt::format("GPU {}: {}", gpu, label));
}

}  // namespace gputopo::cli
