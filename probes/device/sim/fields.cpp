#include "device/sim/fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace gputopo::sim {
namespace {

constexpr double exact_limit = 9007199254740992.0;  // 2^53: whole numbers are exact up to here

std::uint64_t whole(double value, const std::string& path, Range range, std::string_view what) {
  const double high = std::min(range.high, exact_limit);
  if (!(value >= range.low && value <= high))
    refuse(path, fmt::format("{} is out of range", value),
           fmt::format("write {} from {} to {}", what, range.low, high));
  if (std::floor(value) != value)
    refuse(path, fmt::format("{} isn't whole", value), fmt::format("write a whole number of {}", what));
  return static_cast<std::uint64_t>(value);
}

double unit_bytes(std::string_view unit, const std::string& path) {
  constexpr std::array<std::pair<std::string_view, double>, 5> units{
      {{"B", 1.0}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}}};
  for (const auto& [name, factor] : units)
    if (unit == name) return factor;
  refuse(path, "has no known unit", "write bytes as a number, or a text such as \"60 MiB\" (B, KiB, MiB, GiB, TiB)");
}

}  // namespace

void refuse(const std::string& path, std::string_view why, std::string_view remedy) {
  throw BadField{fmt::format("{}: {}; {}", path.empty() ? "/" : path, why, remedy)};
}

double read_number(const Json& j, const std::string& path, Range range) {
  if (!j.is_number()) refuse(path, "is not a number", "write a number");
  const double value = j.get<double>();
  if (!(value >= range.low && value <= range.high))
    refuse(path, fmt::format("{} is out of range", value),
           fmt::format("write a number from {} to {}", range.low, range.high));
  return value;
}

std::uint64_t read_count(const Json& j, const std::string& path, Range range) {
  if (!j.is_number()) refuse(path, "is not a number", "write a whole number");
  return whole(j.get<double>(), path, range, "counts");
}

std::uint64_t read_bytes(const Json& j, const std::string& path, Range range) {
  if (j.is_number()) return whole(j.get<double>(), path, range, "bytes");
  if (!j.is_string()) refuse(path, "is not a size", "write bytes as a number, or a text such as \"60 MiB\"");
  const auto& text = j.get_ref<const std::string&>();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) refuse(path, "doesn't begin with a number", "write a text such as \"60 MiB\"");
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return whole(value * unit_bytes(unit, path), path, range, "bytes");
}

std::string read_text(const Json& j, const std::string& path) {
  if (!j.is_string()) refuse(path, "is not a text", "write it in double quotes");
  const auto& text = j.get_ref<const std::string&>();
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.empty() || std::any_of(text.begin(), text.end(), is_control))
    refuse(path, "is empty or has control characters", "write a text of one line");
  return text;
}

std::string check_name(const std::string& name, const std::string& path) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), fits))
    refuse(path, "is no usable name", "use 1 to 64 letters, digits, '_', '-' and '.'");
  return name;
}

Fields::Fields(const Json& j, std::string path) : json_(&j), path_(std::move(path)), known_{"comment"} {
  if (!j.is_object()) refuse(path_, "is not an object", "write { ... }");
}

const Json* Fields::find(const char* key) {
  known_.insert(key);
  const auto it = json_->find(key);
  return it == json_->end() || it->is_null() ? nullptr : &*it;
}

const Json& Fields::require(const char* key, std::string_view remedy) {
  const Json* j = find(key);
  if (j == nullptr) refuse(path_, fmt::format("lacks '{}'", key), remedy);
  return *j;
}

std::uint64_t Fields::count(const char* key, Range range, std::uint64_t fallback) {
  const Json* j = find(key);
  return j == nullptr ? fallback : read_count(*j, at(key), range);
}

std::uint64_t Fields::bytes(const char* key, Range range, std::uint64_t fallback) {
  const Json* j = find(key);
  return j == nullptr ? fallback : read_bytes(*j, at(key), range);
}

double Fields::number(const char* key, Range range, double fallback) {
  const Json* j = find(key);
  return j == nullptr ? fallback : read_number(*j, at(key), range);
}

std::string Fields::text(const char* key, std::string_view fallback) {
  const Json* j = find(key);
  return j == nullptr ? std::string(fallback) : read_text(*j, at(key));
}

bool Fields::flag(const char* key, bool fallback) {
  const Json* j = find(key);
  if (j == nullptr) return fallback;
  if (!j->is_boolean()) refuse(at(key), "is not true or false", "write true or false");
  return j->get<bool>();
}

void Fields::finish() const {
  for (const auto& [key, value] : json_->items()) {
    if (known_.contains(key)) continue;
    std::string names;
    for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
    refuse(at(key), "is an unknown field", "correct its name (known here: " + names + ")");
  }
}

}  // namespace gputopo::sim
