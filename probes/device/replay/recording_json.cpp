#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/replay/integer_text.hpp"
#include "device/replay/recording.hpp"
#include "device/replay/trace_check.hpp"
#include "device/replay/trace_text.hpp"

namespace gputopo::replay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t number_limit = std::size_t{1} << 24;  // a full discovery holds under a million
constexpr int depth_limit = 6;

// Thrown inside this file only; parse_recording turns it into an Error.
struct Bad {
  std::string message;
};

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::uint64_t from_hex(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16)
    throw Bad{fmt::format("'{}' is no hash of 16 hexadecimal digits", text.substr(0, 32))};
  return value;
}

// FNV-1a over texts with a mark after each: finds accidents, not forgers.
class Checksum {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0x100);  // no byte has this value, so moving a border between texts shows
  }
  std::string text() const { return hex(state_); }

 private:
  void add_byte(std::uint64_t byte) {
    state_ ^= byte;
    state_ *= 0x100000001b3ULL;
  }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

std::string dump(const Json& j) {
  return j.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// Visits every field of a DeviceInfo with its key, to write it and to read it by one list.
template <class Info, class Visitor>
void visit_fields(Info& i, const Visitor& visit) {
  visit("name", i.gpu.name);
  visit("uuid", i.gpu.uuid);
  visit("pci_bus_id", i.gpu.pci_bus_id);
  visit("compute_capability", i.gpu.compute_capability);
  visit("sm_count", i.gpu.sm_count);
  visit("clock_khz", i.gpu.clock_khz);
  visit("memory_clock_khz", i.gpu.memory_clock_khz);
  visit("memory_bus_bits", i.gpu.memory_bus_bits);
  visit("kind", i.kind);
  visit("simulated", i.simulated);
  visit("driver_version", i.driver_version);
  visit("memory_bytes", i.memory_bytes);
  visit("l2_bytes", i.l2_bytes);
  visit("shared_bytes_per_sm", i.shared_bytes_per_sm);
  visit("shared_bytes_per_block", i.shared_bytes_per_block);
  visit("shared_reserved_per_block", i.shared_reserved_per_block);
  visit("shared_recorder_bytes", i.shared_recorder_bytes);
  visit("constant_bytes_per_module", i.constant_bytes_per_module);
  visit("constant_modules", i.constant_modules);
  visit("texture_elements", i.texture_elements);
  visit("largest_buffer_bytes", i.largest_buffer_bytes);
  visit("largest_recording", i.largest_recording);
  visit("warps_per_block", i.warps_per_block);
  visit("has_no_allocate", i.has_no_allocate);
  visit("has_read_only", i.has_read_only);
  visit("has_execute", i.has_execute);
  visit("execute_unit_bytes", i.execute_unit_bytes);
  visit("execute_limit_bytes", i.execute_limit_bytes);
}

template <class T>
void read_field(const Json& j, const char* key, T& field) {
  const auto it = j.find(key);
  if (it == j.end()) throw Bad{fmt::format("its device lacks '{}'", key)};
  const bool fits = [&] {
    if constexpr (std::is_same_v<T, std::string>)
      return it->is_string();
    else if constexpr (std::is_same_v<T, bool>)
      return it->is_boolean();
    else
      return it->is_number_unsigned() && it->template get<std::uint64_t>() <= std::numeric_limits<T>::max();
  }();
  if (!fits) throw Bad{fmt::format("its device's '{}' has the wrong type or size", key)};
  field = it->template get<T>();
}

Json device_json(const device::DeviceInfo& info) {
  Json j;
  visit_fields(info, [&](const char* key, const auto& field) { j[key] = field; });
  return j;
}

const Json& member(const Json& j, const char* key) {
  const auto it = j.is_object() ? j.find(key) : j.end();
  if (!j.is_object() || it == j.end()) throw Bad{fmt::format("it lacks '{}'", key)};
  return *it;
}

// What nothing is known of is left out at the end of a run: so recordings made before it was recorded still open.
Run read_run(const Json& j, std::size_t index, Checksum& sum, std::size_t& budget) {
  const bool is_list = j.is_array() && j.size() >= 4 && j.size() <= 5;
  if (!is_list || !std::all_of(j.begin(), j.end(), [](const Json& field) { return field.is_string(); }))
    throw Bad{fmt::format("run {} is no list of four or five texts", index)};
  for (const Json& field : j) sum.add(dump(field));
  Run run{from_hex(j[0].get<std::string>()), j[1].get<std::string>(), {}};
  auto sms = decode_list<std::uint32_t>(j[2].get_ref<const std::string&>(), budget);
  if (!sms) throw Bad{fmt::format("the SMs of run {} can't be decoded", index)};
  run.trace.agent_sms = std::move(*sms);
  auto phases = decode_phases(j[3].get_ref<const std::string&>(), budget);
  if (!phases) throw Bad{fmt::format("the phases of run {} can't be decoded", index)};
  run.trace.phases = std::move(*phases);
  if (j.size() == 5) {
    const auto seen = decode_interruptions(j[4].get_ref<const std::string&>());
    if (!seen) throw Bad{fmt::format("the interruptions of run {} can't be decoded", index)};
    run.trace.interruptions = *seen;
  }
  if (auto ok = check_consistent(run.trace); !ok)
    throw Bad{fmt::format("run {} ('{}') {}", index, run.label, ok.error().message)};
  return run;
}

Recording read(std::string_view text) {
  const auto not_too_deep = [](int depth, Json::parse_event_t, Json&) {
    if (depth > depth_limit) throw Bad{"it is nested too deeply"};
    return true;
  };
  const Json j = Json::parse(text, not_too_deep);
  if (member(j, "schema") != recording_schema) throw Bad{fmt::format("its schema isn't '{}'", recording_schema)};
  const Json& info = member(j, "device");
  const Json& runs = member(j, "runs");
  if (!info.is_object() || !runs.is_array()) throw Bad{"its 'device' is no object or its 'runs' are no list"};
  Recording recording;
  visit_fields(recording.info, [&](const char* key, auto& field) { read_field(info, key, field); });
  Checksum sum;
  sum.add(dump(device_json(recording.info)));
  std::size_t budget = number_limit;
  for (std::size_t i = 0; i < runs.size(); ++i) recording.runs.push_back(read_run(runs[i], i, sum, budget));
  if (member(j, "checksum") != sum.text()) throw Bad{"its checksum doesn't fit, so it was altered"};
  return recording;
}

}  // namespace

std::string to_text(const Recording& recording) {
  const std::string info = dump(device_json(recording.info));
  Checksum sum;
  sum.add(info);
  std::string text = fmt::format("{{\"schema\": \"{}\",\n\"device\": {},\n\"runs\": [", recording_schema, info);
  std::string_view separator = "\n";
  for (const Run& run : recording.runs) {
    Json line = {hex(run.hash), run.label, encode_list(run.trace.agent_sms), encode_phases(run.trace)};
    if (std::string seen = encode_interruptions(run.trace.interruptions); !seen.empty())
      line.push_back(std::move(seen));
    for (const Json& field : line) sum.add(dump(field));
    text += separator;
    text += dump(line);
    separator = ",\n";
  }
  return text + fmt::format("\n],\n\"checksum\": \"{}\"}}\n", sum.text());
}

Expected<Recording> parse_recording(std::string_view text) {
  try {
    return read(text);
  } catch (const Bad& e) {
    return fail(Error::Kind::bad_input, "not a recording that can be used: " + e.message);
  } catch (const Json::exception&) {
    return fail(Error::Kind::bad_input, "it is cut short or damaged: not valid JSON");
  }
}

}  // namespace gputopo::replay
