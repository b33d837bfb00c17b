// How a text may look where it is shown: characters beyond ASCII, and colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gputopo::report {

struct Look {
  bool unicode = false;
  bool color = false;
};

/// What a text is, for its colour.
enum class Tone { plain, title, faint, doubtful, good, bad };

/// `text` between the escape sequences of a terminal's colour (ECMA-48, SGR); as it is without colours or where empty.
std::string painted(const std::string& text, Tone tone, const Look& look);

/// The same of each line by itself: a pager may show any of them first.
std::string painted_lines(const std::string& text, Tone tone, const Look& look);

/// Bytes of the escape sequence that a text begins with, if it is one that painted() writes; else 0.
std::size_t color_length(std::string_view text);

/// The character of a line below titles.
inline const char* rule_of(const Look& look) {
  return look.unicode ? "\u2500" : "-";
}

}  // namespace gputopo::report
