// Typed, checked access to a JSON object's members, for the model reader. Internal to this folder.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace gputopo::sim {

using Json = nlohmann::json;

/// Thrown by everything here and caught by parse_model: the field's JSON path, why it is refused, what to write.
struct BadField {
  std::string message;
};

[[noreturn]] void refuse(const std::string& path, std::string_view why, std::string_view remedy);

/// Closed range of a number.
struct Range {
  double low = 0;
  double high = std::numeric_limits<double>::max();
};

std::uint64_t read_count(const Json& j, const std::string& path, Range range);
/// Bytes: a whole number, or a text such as "60 MiB" or "7.125 KiB" (B, KiB, MiB, GiB, TiB).
std::uint64_t read_bytes(const Json& j, const std::string& path, Range range);
double read_number(const Json& j, const std::string& path, Range range);
/// A text of 1 to 200 bytes without control characters.
std::string read_text(const Json& j, const std::string& path);
/// A name: 1 to 64 letters, digits, '_', '-' and '.'.
std::string check_name(const std::string& name, const std::string& path);

/// One JSON object. Remembers which members were asked for, so that finish() can refuse the others: a misspelt field
/// must not silently leave its default in force. Members that are null count as absent; "comment" is always allowed.
class Fields {
 public:
  Fields(const Json& j, std::string path);

  const Json* find(const char* key);
  const Json& require(const char* key, std::string_view remedy);
  std::string at(std::string_view key) const { return path_ + "/" + std::string(key); }
  const std::string& path() const { return path_; }
  const Json& json() const { return *json_; }

  std::uint64_t count(const char* key, Range range, std::uint64_t fallback);
  std::uint64_t bytes(const char* key, Range range, std::uint64_t fallback);
  double number(const char* key, Range range, double fallback);
  std::string text(const char* key, std::string_view fallback);
  bool flag(const char* key, bool fallback);

  /// Refuses members that nobody asked for.
  void finish() const;

 private:
  const Json* json_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

/// The value that goes with a name; refuses other names and lists those there are.
template <class E>
struct Named {
  std::string_view name;
  E value;
};

template <class E>
E read_choice(const Json& j, const std::string& path, const std::vector<Named<E>>& choices) {
  std::string names;
  for (const Named<E>& choice : choices) {
    if (j.is_string() && j.get_ref<const std::string&>() == choice.name) return choice.value;
    names += (names.empty() ? "" : ", ") + std::string(choice.name);
  }
  refuse(path, "isn't one of the known names", "write one of " + names);
}

}  // namespace gputopo::sim
