#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <fmt/format.h>

namespace gputopo::cli {

std::string progress_line(double done, double seconds, std::string_view label, int width) {
  constexpr int bar_width = 30;
  const double share = done > 0 ? std::min(done, 1.0) : 0.0;  // also for NaN
  const int filled = static_cast<int>(share * bar_width);
  std::string line =
      fmt::format("[{}{}] {:3.0f} %  {:.1f} s  {}", std::string(static_cast<std::size_t>(filled), '#'),
                  std::string(static_cast<std::size_t>(bar_width - filled), '.'), share * 100, seconds, label);
  if (line.size() > static_cast<std::size_t>(width)) line.resize(static_cast<std::size_t>(width));
  return line;
}

void ProgressBar::show(double done, std::string_view label) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  done_ = done;
  label_ = label;
  if (!drawing_.joinable()) drawing_ = std::jthread([this](const std::stop_token& stop) { draw_until(stop); });
}

void ProgressBar::draw_until(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds between(100);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    std::fputs(("\r\033[K" + progress_line(done_, passed.count(), label_, 79)).c_str(), stderr);
    std::fflush(stderr);
    stopped_.wait_for(lock, stop, between, [] { return false; });
  }
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  std::jthread ending;
  {
    const std::lock_guard lock(mutex_);
    ending.swap(drawing_);
  }  // its destructor asks the thread to stop and waits for it
}

void JointProgress::show(std::size_t gpu, double done, std::string_view label) {
  const std::lock_guard lock(mutex_);
  done_[gpu] = done;
  const double mean = std::accumulate(done_.begin(), done_.end(), 0.0) / static_cast<double>(done_.size());
  bar_.show(mean, done_.size() == 1 ? std::string(label) : fmt::format("GPU {}: {}", gpu, label));
}

}  // namespace gputopo::cli
