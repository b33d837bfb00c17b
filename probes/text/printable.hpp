// Text that came from outside, made fit to be shown: the one place where names, units, keys and paths are escaped and
// cut, for every output and every error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo::text {

/// One character of UTF-8: its number, and how many bytes it takes. Number 0xFFFFFFFF for bytes that are none.
struct CodePoint {
  std::uint32_t number = 0xFFFFFFFFU;
  std::size_t bytes = 1;
};

/// The first character of a text that isn't empty. No overlong forms, no surrogates (RFC 3629).
inline CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return {};
  std::uint32_t number = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    number = number << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = number >= 0xD800 && number <= 0xDFFF;
  return number < least[length] || surrogate || number > 0x10FFFF ? CodePoint{} : CodePoint{number, length};
}

/// Whether a terminal shows it and does nothing else. Not so: control characters, what turns the direction of writing
/// (so that a text reads as another; "Trojan Source", CVE-2021-42574), what takes no room, and line separators.
inline bool is_shown(std::uint32_t c) {
  const auto within = [c](std::uint32_t low, std::uint32_t high) { return c >= low && c <= high; };
  return !(c < 0x20 || within(0x7F, 0x9F) || c == 0xAD || c == 0x61C || within(0x200B, 0x200F) ||
           within(0x2028, 0x202E) || within(0x2060, 0x206F) || c == 0xFEFF || within(0xFFF0, 0xFFFB) ||
           within(0xE0000, 0xE0FFF) || c > 0x10FFFF);
}

/// The text with a '?' for each character that isn't shown (`kept`: but these), cut with "..." to `limit` characters.
inline std::string printable(std::string_view text, std::size_t limit, std::string_view kept = {}) {
  std::string out;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == limit) return out + "...";
    const CodePoint c = first_of(text);
    if (is_shown(c.number) || kept.find(text.front()) != std::string_view::npos)
      out += text.substr(0, c.bytes);
    else
      out += '?';
    text.remove_prefix(c.bytes);
  }
  return out;
}

/// One line for a person: nothing but shown characters, and of a long text the beginning, which says what, and the end,
/// which says what to do.
inline std::string message(std::string_view text) {
  constexpr std::size_t beginning = 380, end = 220;
  if (text.size() <= beginning + end) return printable(text, beginning + end);
  std::string_view tail = text.substr(text.size() - end);
  while (!tail.empty() && (static_cast<unsigned char>(tail.front()) & 0xC0U) == 0x80U) tail.remove_prefix(1);
  return printable(text.substr(0, 4 * beginning), beginning) + printable(tail, end);
}

}  // namespace gputopo::text
