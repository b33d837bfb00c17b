#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "json/value.hpp"

namespace gputopo::json {
namespace {

// A number has one text, however it was written: a whole one its digits, another the bits of its double.
std::string number_text(const Value& value) {
  if (value.is_whole()) return fmt::format("{}", value.whole());
  const double number = value.number();
  constexpr double limit = 9223372036854775808.0;  // 2^63
  if (number == std::floor(number) && std::fabs(number) < limit)
    return fmt::format("{}", static_cast<std::int64_t>(number));
  return fmt::format("x{:016x}", std::bit_cast<std::uint64_t>(number));
}

void add(Checksum& sum, const Value& value);

void add_members(Checksum& sum, const Value& object, std::string_view left_out) {
  sum.add("{");
  for (const Member& m : object.members()) {
    if (m.key == left_out) continue;
    sum.add(m.key);
    add(sum, m.value);
  }
  sum.add("}");
}

void add(Checksum& sum, const Value& value) {
  if (value.is_null())
    sum.add("null");
  else if (value.is_boolean())
    sum.add(value.boolean() ? "true" : "false");
  else if (value.is_number())
    sum.add(number_text(value));
  else if (value.is_string())
    sum.add('"' + value.string());
  else if (value.is_object())
    add_members(sum, value, {});
  else {
    sum.add("[");
    for (const Value& item : value.array()) add(sum, item);
    sum.add("]");
  }
}

}  // namespace

void Checksum::add(std::string_view text) {
  for (const char c : text) add_byte(static_cast<unsigned char>(c));
  add_byte(0x100);  // no byte has this value, so moving a border between texts shows
}

std::string Checksum::text() const {
  return fmt::format("{:016x}", state_);
}

void Checksum::add_byte(std::uint64_t byte) {
  state_ ^= byte;
  state_ *= 0x100000001b3ULL;
}

std::string checksum_without(const Value& object, std::string_view left_out) {
  Checksum sum;
  add_members(sum, object, left_out);
  return sum.text();
}

}  // namespace gputopo::json
