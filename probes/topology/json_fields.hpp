// Members of a JSON object with the type that they must have: anything else throws a BadField that names its path.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "json/value.hpp"

namespace gputopo::json {

using Json = Value;

/// Thrown by the readers below; parse_topology turns it into an Error.
struct BadField {
  std::string message;
};

[[noreturn]] inline void bad(const std::string& path, std::string_view why) {
  throw BadField{fmt::format("{}: {}", path.empty() ? "/" : path, why)};
}

inline const Json& member(const Json& j, const std::string& path, const char* key) {
  if (!j.is_object()) bad(path, "must be an object");
  const Json* found = j.find(key);
  if (found == nullptr) bad(path, fmt::format("lacks '{}'", key));
  return *found;
}

inline const Json* optional_member(const Json& j, const char* key) {
  const Json* found = j.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

inline double as_double(const Json& j, const std::string& path) {
  if (!j.is_number()) bad(path, "must be a number");
  const double value = j.number();
  if (!std::isfinite(value)) bad(path, "must be finite");
  return value;
}

template <class T>
T as_unsigned(const Json& j, const std::string& path) {
  if (!j.is_whole()) bad(path, "must be a whole number, not negative");
  const auto value = j.whole();
  if (value > std::numeric_limits<T>::max()) bad(path, "is too large");
  return static_cast<T>(value);
}

inline std::string as_string(const Json& j, const std::string& path) {
  if (!j.is_string()) bad(path, "must be a string");
  return j.string();
}

inline bool as_bool(const Json& j, const std::string& path) {
  if (!j.is_boolean()) bad(path, "must be true or false");
  return j.boolean();
}

inline const Json::Array& as_array(const Json& j, const std::string& path) {
  if (!j.is_array()) bad(path, "must be an array");
  return j.array();
}

inline const Json::Members& as_object(const Json& j, const std::string& path) {
  if (!j.is_object()) bad(path, "must be an object");
  return j.members();
}

inline std::string string_or_empty(const Json& j, const std::string& path, const char* key) {
  const Json* m = optional_member(j, key);
  return m == nullptr ? std::string() : as_string(*m, path + "/" + key);
}

template <class T>
T unsigned_or_zero(const Json& j, const std::string& path, const char* key) {
  const Json* m = optional_member(j, key);
  return m == nullptr ? T{0} : as_unsigned<T>(*m, path + "/" + key);
}

template <class E>
E as_enum(const Json& j, const std::string& path, std::optional<E> (*parse)(std::string_view)) {
  const std::string name = as_string(j, path);
  const auto value = parse(name);
  if (!value) bad(path, fmt::format("unknown name '{}'", name));
  return *value;
}

}  // namespace gputopo::json
