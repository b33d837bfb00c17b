// Numbered footnotes; equal ones share a number.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gputopo::report {

class Footnotes {
 public:
  explicit Footnotes(bool unicode) : unicode_(unicode) {}
  /// The mark that refers to `note`: "[1]", or a raised digit.
  std::string mark(const std::string& note);
  /// One note after the other, wrapped at `width`; empty where there are none.
  std::string text(std::size_t width) const;

 private:
  std::string mark_of(std::size_t index) const;
  bool unicode_;
  std::vector<std::string> notes_;
};

}  // namespace gputopo::report
