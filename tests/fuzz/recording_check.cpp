#include "recording_check.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include "device/replay/recording.hpp"
#include "json/value.hpp"
#include "one_line.hpp"

namespace gputopo::fuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& j) {
  return j.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void check_one(std::string_view text) {
  const auto recording = replay::parse_recording(text);
  if (!recording) return require_one_line(recording.error().message);
  const std::string written = replay::to_text(*recording);
  const auto read = replay::parse_recording(written);
  require(read && read->runs == recording->runs && read->streams == recording->streams &&
          read->workloads == recording->workloads && replay::to_text(*read) == written);
}

}  // namespace

std::string sealed_recording(std::string_view text) {
  if (!json::parse(text, {.depth = 8})) return {};
  Json j = Json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("device") || !j.contains("runs")) return {};
  json::Checksum sum;
  sum.add(dump(j["device"]));
  for (const char* list : {"runs", "streams", "workloads"})
    if (j.contains(list) && j[list].is_array())
      for (const Json& run : j[list])
        for (const Json& field : run) sum.add(dump(field));
  j["checksum"] = sum.text();
  return dump(j);
}

void check_recording(std::string_view text) {
  check_one(text);
  constexpr std::size_t worth_it = 1 << 16;
  if (text.size() > worth_it) return;
  if (const std::string fitting = sealed_recording(text); !fitting.empty()) check_one(fitting);
}

}  // namespace gputopo::fuzz
