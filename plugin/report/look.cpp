#include "report/look.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace gputopo::report {
namespace {

// Of the terminal's own palette, so that its user decides what can be read.
const char* parameters(Tone tone) {
  switch (tone) {
    case Tone::plain:
      break;
    case Tone::title:
      return "1";
    case Tone::faint:
      return "2";
    case Tone::doubtful:
      return "33";
    case Tone::good:
      return "32";
    case Tone::bad:
      return "31";
  }
  return "";
}

constexpr std::string_view reset = "0";

std::string sequence(std::string_view parameter) {
  return fmt::format("\x1b[{}m", parameter);
}

}  // namespace

std::string painted(const std::string& text, Tone tone, const Look& look) {
  if (!look.color || tone == Tone::plain || text.empty()) return text;
  return sequence(parameters(tone)) + text + sequence(reset);
}

std::size_t color_length(std::string_view text) {
  if (!text.starts_with('\x1b')) return 0;
  std::vector<std::string_view> all{reset};
  for (const Tone tone : {Tone::title, Tone::faint, Tone::doubtful, Tone::good, Tone::bad})
    all.emplace_back(parameters(tone));
  for (const std::string_view one : all)
    if (const std::string whole = sequence(one); text.starts_with(whole)) return whole.size();
  return 0;
}

std::string painted_lines(const std::string& text, Tone tone, const Look& look) {
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    all += painted(text.substr(at, end - at), tone, look);
    if (end < text.size()) all += '\n';
    at = end + 1;
  }
  return all;
}

}  // namespace gputopo::report
