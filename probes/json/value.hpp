// JSON as it stands in a file: a plain tree, for reading alone.
//
// nlohmann-json reads the text but doesn't hold it: its own tree takes memory when it is destroyed, which ends the
// process where there is none, and it silently keeps one of two members of the same name, in alphabetical order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "error/error.hpp"

namespace gputopo::json {

struct Member;

class Value {
 public:
  using Array = std::vector<Value>;
  using Members = std::vector<Member>;  ///< in the file's order

  Value() = default;
  template <class T>
  explicit Value(T value) : value_(std::move(value)) {}

  bool is_null() const { return holds<std::monostate>(); }
  bool is_boolean() const { return holds<bool>(); }
  /// A whole number from 0 to 2^64 - 1, written without a fraction or an exponent.
  bool is_whole() const { return holds<std::uint64_t>(); }
  bool is_number() const { return is_whole() || holds<std::int64_t>() || holds<double>(); }
  bool is_string() const { return holds<std::string>(); }
  bool is_array() const { return holds<Array>(); }
  bool is_object() const { return holds<Members>(); }

  // Only for a value of that type.
  bool boolean() const { return std::get<bool>(value_); }
  std::uint64_t whole() const { return std::get<std::uint64_t>(value_); }
  double number() const;
  const std::string& string() const { return std::get<std::string>(value_); }
  const Array& array() const { return std::get<Array>(value_); }
  Array& array() { return std::get<Array>(value_); }
  const Members& members() const { return std::get<Members>(value_); }
  Members& members() { return std::get<Members>(value_); }

  /// An object's member; nullptr where it has none of that name, or this is no object.
  const Value* find(std::string_view key) const;

 private:
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value_);
  }

  std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, Array, Members> value_;
};

struct Member {
  std::string key;
  Value value;
};

struct Limits {
  int depth = 12;
  std::size_t values = std::size_t{1} << 20;  ///< each takes some 40 bytes
};

/// Reads a text that is one JSON value and nothing else. `bad_input`, in words that go on from 'the file ...', for what
/// isn't JSON (with line and column), has two members of one name in an object, or goes beyond `limits`.
Expected<Value> parse(std::string_view text, const Limits& limits);

/// FNV-1a (64 bits) over texts with a mark after each, in 16 hexadecimal digits: finds accidents, not forgers.
class Checksum {
 public:
  void add(std::string_view text);
  std::string text() const;

 private:
  void add_byte(std::uint64_t byte);
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

/// The checksum of an object without its member `left_out`: over names and values in the file's order, whatever its
/// spaces, escapes and ways to write a number (docs/formats.md).
std::string checksum_without(const Value& object, std::string_view left_out);

}  // namespace gputopo::json
