// Numbered footnotes; equal ones share a number.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gputopo::report {

enum class MarkStyle {
  ascii,     ///< [1]
  raised,    ///< a raised digit beyond ASCII
  markdown,  ///< [^1]
  plain,     ///< 1
};

class Footnotes {
 public:
  explicit Footnotes(MarkStyle style) : style_(style) {}
  /// The mark that refers to `note`.
  std::string mark(const std::string& note);
  const std::vector<std::string>& notes() const { return notes_; }
  /// One note after the other, wrapped at `width`; empty where there are none.
  std::string text(std::size_t width) const;

 private:
  std::string mark_of(std::size_t index) const;
  MarkStyle style_;
  std::vector<std::string> notes_;
};

}  // namespace gputopo::report
