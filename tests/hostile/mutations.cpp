#include "mutations.hpp"

#include <array>
#include <vector>

namespace gputopo::hostile {
namespace {

std::size_t below(std::size_t limit, Random& random) {
  return limit == 0 ? 0 : static_cast<std::size_t>(random() % limit);
}

// ESC, BEL, CR, NUL, DEL, the one-character CSI, right-to-left override, a byte that is no UTF-8.
constexpr std::array<std::string_view, 8> controls{"\x1b[31m", "\a",       "\r",           std::string_view("\0", 1),
                                                   "\x7f",     "\xc2\x9b", "\xe2\x80\xae", "\xff"};

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

std::string strange_value(Random& random) {
  static const std::vector<std::string> values{"0",
                                               "-1",
                                               "1e308",
                                               "1e999",
                                               "-0.0",
                                               "4096",
                                               "4097",
                                               "2147483648",
                                               "4294967296",
                                               "18446744073709551616",
                                               "1e-320",
                                               "null",
                                               "true",
                                               "[]",
                                               "{}",
                                               "\"\"",
                                               "[0]",
                                               "[[1,2],[3]]",
                                               "{\"a\":{}}",
                                               "\"60 TiB\"",
                                               "\"\\u001b[31m\"",
                                               "\"\\u202e\"",
                                               "\"gpu\"",
                                               "NaN"};
  switch (below(20, random)) {
    case 0:
      return '"' + std::string(100000, 'n') + '"';
    case 1:
      return repeated("[", 100000);
    case 2:
      return repeated("[", 200) + repeated("]", 200);
    case 3:
      return repeated("{\"a\":", 60) + "0" + repeated("}", 60);
    case 4:
      return "[" + repeated("0,", 100000) + "0]";
    default:
      return values[below(values.size(), random)];
  }
}

// Where values stand: behind a colon, a comma or an opening bracket, up to the next of them or a closing one.
std::string with_a_value_replaced(std::string_view json, Random& random) {
  const std::size_t start = json.find_first_of(":,[", below(json.size(), random));
  if (start == json.npos) return std::string(json);
  const std::size_t end = std::min(json.find_first_of(",]}\n", start + 1), json.size());
  return std::string(json.substr(0, start + 1)) + strange_value(random) + std::string(json.substr(end));
}

std::string with_a_digit_changed(std::string text, Random& random) {
  const std::size_t at = text.find_first_of("0123456789", below(text.size(), random));
  if (at != text.npos) text[at] = static_cast<char>('0' + below(10, random));
  return text;
}

// A member of some object, `"name": value,`, twice.
std::string with_a_member_doubled(std::string_view json, Random& random) {
  const std::size_t start = json.find('"', below(json.size(), random));
  const std::size_t end = start == json.npos ? json.npos : json.find(',', start);
  if (end == json.npos) return std::string(json);
  const std::string_view member = json.substr(start, end + 1 - start);
  return std::string(json.substr(0, start)) + std::string(member) + std::string(json.substr(start));
}

std::string with_a_name_replaced(std::string_view json, Random& random) {
  const std::size_t start = json.find('"', below(json.size(), random));
  const std::size_t end = start == json.npos ? json.npos : json.find('"', start + 1);
  if (end == json.npos) return std::string(json);
  const std::string name = below(2, random) == 0
                               ? std::string(20000, 'k')
                               : std::string(controls.at(below(controls.size(), random))) + "\\u001b[2J";
  return std::string(json.substr(0, start + 1)) + name + std::string(json.substr(end));
}

}  // namespace

std::string damaged_bytes(std::string_view original, Random& random) {
  std::string text(original);
  if (text.empty()) return "x";
  const std::size_t at = below(text.size(), random);
  switch (below(6, random)) {
    case 0:
      return text.substr(0, at);
    case 1:
      text[at] = static_cast<char>(text[at] ^ (1 << below(8, random)));
      return text;
    case 2:
      for (std::size_t i = 0; i < 4; ++i) text[below(text.size(), random)] = static_cast<char>(random());
      return text;
    case 3:
      return text + text.substr(at);
    case 4:
      return text + "{}";
    default:
      return text.insert(at, controls.at(below(controls.size(), random)));
  }
}

std::string damaged_values(std::string_view json, Random& random) {
  switch (below(6, random)) {
    case 0:
      return with_a_digit_changed(std::string(json), random);
    case 1:
      return with_a_member_doubled(json, random);
    case 2:
      return with_a_name_replaced(json, random);
    case 3:
      return with_a_value_replaced(with_a_value_replaced(json, random), random);
    default:
      return with_a_value_replaced(json, random);
  }
}

std::string damaged_rows(std::string_view csv, Random& random) {
  static const std::vector<std::string> rows{"",   ",",   "-1,40",  "0,40",   "1e18,1e12",  "1e400,1", "nan,inf",
                                             "32", "32,", "32,,40", "32,40,", "\x1b[31m,1", "32;40",   "0x20,40"};
  const std::size_t line = csv.find('\n', below(csv.size(), random));
  const std::string head(csv.substr(0, line == csv.npos ? csv.size() : line + 1));
  const std::string tail(csv.substr(std::min(head.size(), csv.size())));
  switch (below(8, random)) {
    case 0:
      return head + repeated(tail, 20) + tail;
    case 1:
      return head + "32" + repeated(",40,240", 20000) + "\n" + tail;
    case 2:
      return head + std::string(100000, '9') + "\n" + tail;
    case 3:
      return with_a_digit_changed(head + tail, random);
    default:
      return head + rows[below(rows.size(), random)] + "\n" + tail;
  }
}

}  // namespace gputopo::hostile
