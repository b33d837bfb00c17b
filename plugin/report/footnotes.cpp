#include "report/footnotes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/text.hpp"

namespace gputopo::report {

std::string Footnotes::mark_of(std::size_t index) const {
  if (style_ == MarkStyle::ascii) return fmt::format("[{}]", index + 1);
  if (style_ == MarkStyle::markdown) return fmt::format("[^{}]", index + 1);
  if (style_ == MarkStyle::plain) return fmt::format("{}", index + 1);
  constexpr std::array<const char*, 10> raised{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string mark;
  for (const char digit : fmt::format("{}", index + 1)) mark += raised[static_cast<std::size_t>(digit - '0')];
  return mark;
}

std::string Footnotes::mark(const std::string& note) {
  const auto found = std::find(notes_.begin(), notes_.end(), note);
  const auto index = static_cast<std::size_t>(found - notes_.begin());
  if (found == notes_.end()) notes_.push_back(note);
  return mark_of(index);
}

std::string Footnotes::text(std::size_t width) const {
  std::string text;
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    const std::string mark = mark_of(i);
    for (const std::string& line : wrap(mark + " " + notes_[i], width, display_width(mark) + 1)) text += line + '\n';
  }
  return text;
}

}  // namespace gputopo::report
