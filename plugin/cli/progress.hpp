// A one-line progress bar on stderr.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

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

}  // namespace gputopo::cli
