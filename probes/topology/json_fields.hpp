// Members of a JSON object with the type that they must have: anything else throws a BadField that names its path.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gputopo::json {

using Json = nlohmann::json;

/// Thrown by the readers below; parse_topology turns it into an Error.
struct BadField {
  std::string message;
};

[[noreturn]] inline void bad(const std::string& path, std::string_view why) {
  throw BadField{fmt::format("{}: {}", path.empty() ? "/" : path, why)};
}

inline const Json& member(const Json& j, const std::string& path, const char* key) {
  if (!j.is_object()) bad(path, "must be an object");
  const auto it = j.find(key);
  if (it == j.end()) bad(path, fmt::format("lacks '{}'", key));
  return *it;
}

inline const Json* optional_member(const Json& j, const char* key) {
  const auto it = j.find(key);
  return it == j.end() || it->is_null() ? nullptr : &*it;
}

inline double as_double(const Json& j, const std::string& path) {
  if (!j.is_number()) bad(path, "must be a number");
  const double value = j.get<double>();
  if (!std::isfinite(value)) bad(path, "must be finite");
  return value;
}

template <class T>
T as_unsigned(const Json& j, const std::string& path) {
  if (!j.is_number_unsigned()) bad(path, "must be a whole number, not negative");
  const auto value = j.get<std::uint64_t>();
  if (value > std::numeric_limits<T>::max()) bad(path, "is too large");
  return static_cast<T>(value);
}

inline std::string as_string(const Json& j, const std::string& path) {
  if (!j.is_string()) bad(path, "must be a string");
  return j.get<std::string>();
}

inline bool as_bool(const Json& j, const std::string& path) {
  if (!j.is_boolean()) bad(path, "must be true or false");
  return j.get<bool>();
}

inline const Json& as_array(const Json& j, const std::string& path) {
  if (!j.is_array()) bad(path, "must be an array");
  return j;
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
