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

// The same recording with the checksum that its device, runs and streams have, as docs/formats.md defines it.
std::string sealed(std::string_view text) {
  constexpr std::size_t worth_it = 1 << 16;
  if (text.size() > worth_it || !json::parse(text, {.depth = 8})) return {};
  Json j = Json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("device") || !j.contains("runs") || !j["runs"].is_array()) return {};
  json::Checksum sum;
  sum.add(dump(j["device"]));
  for (const Json& run : j["runs"])
    for (const Json& field : run) sum.add(dump(field));
  if (j.contains("streams") && j["streams"].is_array())
    for (const Json& stream : j["streams"])
      for (const Json& field : stream) sum.add(dump(field));
  j["checksum"] = sum.text();
  return dump(j);
}

void check_one(std::string_view text) {
  const auto recording = replay::parse_recording(text);
  if (!recording) return require_one_line(recording.error().message);
  const std::string written = replay::to_text(*recording);
  const auto read = replay::parse_recording(written);
  require(read && read->runs == recording->runs && read->streams == recording->streams &&
          replay::to_text(*read) == written);
}

}  // namespace

void check_recording(std::string_view text) {
  check_one(text);
  if (const std::string fitting = sealed(text); !fitting.empty()) check_one(fitting);
}

}  // namespace gputopo::fuzz
