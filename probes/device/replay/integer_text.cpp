#include "device/replay/integer_text.hpp"

#include <algorithm>
#include <limits>

namespace gputopo::replay {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr unsigned payload_bits = 5;
constexpr std::uint64_t payload_mask = 31;
constexpr std::uint64_t more_follows = 32;
constexpr char from_previous = '+';
constexpr char from_median = '=';
constexpr char repeat = '*';
constexpr std::size_t shortest_repeat = 3;  // below, '*' and its count are no shorter than the values

// Differences are taken modulo 2^64 and folded as signed numbers: so they are short both ways, and none overflows.
std::uint64_t fold(std::uint64_t difference) {
  return (difference << 1) ^ (~(difference >> 63) + 1);
}

std::uint64_t unfold(std::uint64_t value) {
  return (value >> 1) ^ (~(value & 1) + 1);
}

template <class Number>
std::string encode_with(char mode, const std::vector<Number>& values, std::uint64_t reference) {
  std::string text(1, mode);
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    append_number(text, fold(values[i] - reference));
    if (mode == from_previous) reference = values[i];
    const std::size_t repeats = end - i - 1;
    if (repeats >= shortest_repeat) {
      text += repeat;
      append_number(text, repeats);
    } else {
      const std::uint64_t again = mode == from_previous ? 0 : fold(values[i] - reference);
      for (std::size_t k = 0; k < repeats; ++k) append_number(text, again);
    }
    i = end;
  }
  return text;
}

}  // namespace

void append_number(std::string& text, std::uint64_t value) {
  while (value > payload_mask) {
    text += digits[(value & payload_mask) | more_follows];
    value >>= payload_bits;
  }
  text += digits[value];
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 65; shift += payload_bits) {
    if (text.empty()) return std::nullopt;
    const std::size_t digit = digits.find(text.front());
    if (digit == std::string_view::npos) return std::nullopt;
    text.remove_prefix(1);
    const std::uint64_t payload = digit & payload_mask;
    if (shift == 60 && payload > 15) return std::nullopt;  // beyond 64 bits
    value |= payload << shift;
    if ((digit & more_follows) == 0) return value;
  }
  return std::nullopt;
}

template <class Number>
std::string encode_list(const std::vector<Number>& values) {
  if (values.empty()) return {};
  std::vector<Number> sorted = values;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  std::string median_text;
  append_number(median_text, *middle);
  std::string by_median = encode_with(from_median, values, *middle);
  by_median.insert(1, median_text);
  std::string by_previous = encode_with(from_previous, values, 0);
  return by_median.size() < by_previous.size() ? by_median : by_previous;
}

template <class Number>
std::optional<std::vector<Number>> decode_list(std::string_view text, std::size_t limit) {
  constexpr std::uint64_t largest = std::numeric_limits<Number>::max();
  std::vector<Number> values;
  if (text.empty()) return values;
  const char mode = text.front();
  text.remove_prefix(1);
  if (mode != from_previous && mode != from_median) return std::nullopt;
  std::uint64_t reference = 0;
  if (mode == from_median) {
    const auto median = take_number(text);
    if (!median || *median > largest) return std::nullopt;
    reference = *median;
  }
  while (!text.empty()) {
    if (text.front() == repeat) {
      text.remove_prefix(1);
      const auto count = take_number(text);
      if (!count || values.empty() || *count > limit - values.size()) return std::nullopt;
      values.insert(values.end(), static_cast<std::size_t>(*count), values.back());
      continue;
    }
    const auto folded = take_number(text);
    if (!folded || values.size() == limit) return std::nullopt;
    const std::uint64_t value = reference + unfold(*folded);
    if (value > largest) return std::nullopt;
    values.push_back(static_cast<Number>(value));
    if (mode == from_previous) reference = value;
  }
  return values;
}

template std::string encode_list(const std::vector<std::uint32_t>&);
template std::string encode_list(const std::vector<std::uint64_t>&);
template std::optional<std::vector<std::uint32_t>> decode_list(std::string_view, std::size_t);
template std::optional<std::vector<std::uint64_t>> decode_list(std::string_view, std::size_t);

}  // namespace gputopo::replay
