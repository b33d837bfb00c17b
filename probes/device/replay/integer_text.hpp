// Integers as short text: the number coding inside recordings (docs/formats.md).
//
// A number is written in base-64 digits of 5 bits, lowest first, with the sixth bit set on all but the last digit (the
// variable-length quantity of source maps and MIDI files). Signed numbers are folded to unsigned ones first: 0, -1, 1,
// -2, ... A list is written as differences, either from the number before (mode '+') or from the list's median (mode
// '='), whichever is shorter; '*' and a number n repeat the last value n more times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo::replay {

void append_number(std::string& text, std::uint64_t value);

/// Takes a number off the front of `text`; nothing, and `text` in an unknown state, where there is none.
std::optional<std::uint64_t> take_number(std::string_view& text);

/// An empty list is the empty text. Numbers are std::uint32_t or std::uint64_t.
template <class Number>
std::string encode_list(const std::vector<Number>& values);

/// The reverse of encode_list; nothing where the text isn't a list, holds a number beyond Number or more than `limit`
/// numbers.
template <class Number = std::uint32_t>
std::optional<std::vector<Number>> decode_list(std::string_view text, std::size_t limit);

}  // namespace gputopo::replay
