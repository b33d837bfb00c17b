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
#include "json/value.hpp"

namespace gputopo::replay {
namespace {

using Json = nlohmann::ordered_json;  // to write; json::Value to read
using json::Checksum;
using json::Value;

// A discovery holds under a million numbers and a hundred thousand JSON values, a deep one of an H200 more than ten
// times as many. A few bytes can ask for any number of numbers, so what is read is paid for from one budget, before it
// is made.
constexpr std::size_t number_limit = std::size_t{1} << 25;  // of 8 bytes
constexpr std::size_t value_limit = std::size_t{1} << 22;
constexpr int depth_limit = 6;
constexpr std::uint32_t most_sms = 4096;  // as in models: programs and results grow with them

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
    throw Bad{fmt::format("'{}' are no 16 hexadecimal digits", text.substr(0, 32))};
  return value;
}

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

// Unknown limits are left out, so that recordings made before there were any still open.
template <class Info, class Visitor>
void visit_limit_fields(Info& i, const Visitor& visit) {
  visit_limits(i.gpu.limits, [&](const char* name, auto& value) { visit(fmt::format("limit_{}", name), value); });
  visit("code_bytes", i.code_bytes);
  visit("code_block_bytes", i.code_block_bytes);
  visit("code_own_bytes", i.code_own_bytes);
}

// What holds of few devices, left out where it doesn't.
template <class Recorded, class Visitor>
void visit_flags(Recorded& r, const Visitor& visit) {
  visit("may_run_beside_others", r.info.may_run_beside_others);
  visit("is_shared", r.is_shared);
}

template <class T>
void read_field(const Value& j, const char* key, T& field) {
  const Value* found = j.find(key);
  if (found == nullptr) throw Bad{fmt::format("its device lacks '{}'", key)};
  const auto need = [&](bool fits, const std::string& what) {
    if (!fits) throw Bad{fmt::format("its device's '{}' isn't {}", key, what)};
  };
  if constexpr (std::is_same_v<T, std::string>) {
    need(found->is_string(), "a text");
    field = found->string();
  } else if constexpr (std::is_same_v<T, bool>) {
    need(found->is_boolean(), "true or false");
    field = found->boolean();
  } else {
    need(found->is_whole() && found->whole() <= std::numeric_limits<T>::max(),
         fmt::format("a whole number from 0 to {}", std::numeric_limits<T>::max()));
    field = static_cast<T>(found->whole());
  }
}

Json device_json(const Recording& recording) {
  const device::DeviceInfo& info = recording.info;
  Json j;
  visit_fields(info, [&](const char* key, const auto& field) { j[key] = field; });
  visit_limit_fields(info, [&](const std::string& key, std::uint64_t value) {
    if (value > 0) j[key] = value;
  });
  visit_flags(recording, [&](const char* key, bool flag) {
    if (flag) j[key] = true;
  });
  if (!info.recorded.empty()) j["recorded"] = info.recorded;
  return j;
}

const Value& member(const Value& j, const char* key) {
  const Value* found = j.find(key);
  if (found == nullptr) throw Bad{fmt::format("it lacks '{}'", key)};
  return *found;
}

bool is_text(const Value& value, std::string_view text) {
  return value.is_string() && value.string() == text;
}

// What nothing is known of is left out at the end of a run: so recordings made before it was recorded still open.
void add_run(const Value& j, std::size_t index, Checksum& sum) {
  const std::size_t size = j.is_array() ? j.array().size() : 0;
  const auto is_string = [](const Value& field) { return field.is_string(); };
  if (size < 4 || size > 6 || !std::all_of(j.array().begin(), j.array().end(), is_string))
    throw Bad{fmt::format("run {} is no list of four to six texts", index)};
  for (const Value& field : j.array()) sum.add(dump(field.string()));
}

// A list of `count` texts, or one more.
void add_texts(const Value& j, std::string_view what, std::size_t index, std::size_t count, Checksum& sum) {
  const auto is_string = [](const Value& field) { return field.is_string(); };
  if (!j.is_array() || j.array().size() < count || j.array().size() > count + 1 ||
      !std::all_of(j.array().begin(), j.array().end(), is_string))
    throw Bad{fmt::format("{} {} is no list of {} or {} texts", what, index, count, count + 1)};
  for (const Value& field : j.array()) sum.add(dump(field.string()));
}

// `most`: of its numbers, together with those of what stands before it.
Bad undecodable(std::string_view what, std::size_t index, std::size_t most = 0) {
  return Bad{fmt::format("the {} {} can't be decoded: {}", what, index,
                         most == 0 ? "it is damaged" : fmt::format("damaged, or more than {} numbers", most))};
}

// A fourth text says why the device couldn't run it.
StreamRun read_stream(const Value::Array& fields, std::size_t index) {
  StreamRun run{from_hex(fields[0].string()), fields[1].string(), {}, {}};
  const auto trace = decode_stream(fields[2].string());
  if (!trace) throw undecodable("trace of stream", index);
  run.trace = *trace;
  if (fields.size() == 4) run.refusal = fields[3].string();
  if (fields.size() == 4 && run.refusal.empty())
    throw Bad{fmt::format("stream {} was refused without a reason", index)};
  return run;
}

// A fifth text says why the device couldn't run it.
WorkloadRun read_workload(const Value::Array& fields, std::size_t index, std::size_t& budget) {
  WorkloadRun run{from_hex(fields[0].string()), fields[1].string(), {}, {}};
  const auto trace = decode_workload(fields[2].string());
  if (!trace) throw undecodable("trace of workload", index);
  run.trace = *trace;
  auto words = decode_list<std::uint32_t>(fields[3].string(), std::min(budget, program::most_workload_words));
  if (!words) throw undecodable("words of workload", index, program::most_workload_words);
  budget -= words->size();
  run.trace.output = std::move(*words);
  if (fields.size() == 5) run.refusal = fields[4].string();
  if (fields.size() == 5 && run.refusal.empty())
    throw Bad{fmt::format("workload {} was refused without a reason", index)};
  return run;
}

// The list of that name, or nothing where there is none.
const Value::Array& list_of(const Value& j, const char* name) {
  static const Value::Array none;
  const Value* found = j.find(name);
  if (found == nullptr) return none;
  if (!found->is_array()) throw Bad{fmt::format("its '{}' are no list", name)};
  return found->array();
}

Run read_run(const Value::Array& fields, std::size_t index, std::size_t& budget) {
  const auto text = [&](std::size_t i) -> const std::string& { return fields[i].string(); };
  Run run{from_hex(text(0)), text(1), {}};
  auto sms = decode_list<std::uint32_t>(text(2), std::min<std::size_t>(budget, most_sms));
  if (!sms) throw undecodable("SMs of run", index, most_sms);
  budget -= sms->size();
  run.trace.agent_sms = std::move(*sms);
  auto phases = decode_phases(text(3), budget);
  if (!phases) throw undecodable("phases of run", index, number_limit);
  run.trace.phases = std::move(*phases);
  if (fields.size() > 4) {
    const auto seen = decode_interruptions(text(4));
    if (!seen) throw undecodable("interruptions of run", index);
    run.trace.interruptions = *seen;
  }
  if (fields.size() > 5) run.trace.address = from_hex(text(5));
  if (auto ok = check_consistent(run.trace); !ok)
    throw Bad{fmt::format("run {} ('{}') {}", index, run.label, ok.error().message)};
  return run;
}

Recording read(const Value& j) {
  if (!is_text(member(j, "schema"), recording_schema))
    throw Bad{fmt::format("its schema isn't '{}'", recording_schema)};
  const Value& info = member(j, "device");
  if (!info.is_object() || !member(j, "runs").is_array())
    throw Bad{"its 'device' is no object or its 'runs' are no list"};
  const Value::Array& runs = member(j, "runs").array();
  const Value::Array& streams = list_of(j, "streams");
  const Value::Array& workloads = list_of(j, "workloads");
  Recording recording;
  visit_fields(recording.info, [&](const char* key, auto& field) { read_field(info, key, field); });
  visit_limit_fields(recording.info, [&](const std::string& key, std::uint64_t& value) {
    if (info.find(key) != nullptr) read_field(info, key.c_str(), value);
  });
  visit_flags(recording, [&](const char* key, bool& flag) {
    if (info.find(key) != nullptr) read_field(info, key, flag);
  });
  if (info.find("recorded") != nullptr) read_field(info, "recorded", recording.info.recorded);
  Checksum sum;
  sum.add(dump(device_json(recording)));
  for (std::size_t i = 0; i < runs.size(); ++i) add_run(runs[i], i, sum);
  for (std::size_t i = 0; i < streams.size(); ++i) add_texts(streams[i], "stream", i, 3, sum);
  for (std::size_t i = 0; i < workloads.size(); ++i) add_texts(workloads[i], "workload", i, 4, sum);
  if (!is_text(member(j, "checksum"), sum.text())) throw Bad{"its checksum doesn't fit, so it was altered"};
  if (recording.info.gpu.sm_count > most_sms)
    throw Bad{fmt::format("its device has {} SMs, and no GPU has over {}", recording.info.gpu.sm_count, most_sms)};
  std::size_t budget = number_limit;
  for (std::size_t i = 0; i < runs.size(); ++i) recording.runs.push_back(read_run(runs[i].array(), i, budget));
  for (std::size_t i = 0; i < streams.size(); ++i) recording.streams.push_back(read_stream(streams[i].array(), i));
  for (std::size_t i = 0; i < workloads.size(); ++i)
    recording.workloads.push_back(read_workload(workloads[i].array(), i, budget));
  return recording;
}

void append_line(const Json& line, std::string& text, std::string_view& separator, Checksum& sum) {
  for (const Json& field : line) sum.add(dump(field));
  text += separator;
  text += dump(line);
  separator = ",\n";
}

}  // namespace

std::string to_text(const Recording& recording) {
  const std::string info = dump(device_json(recording));
  Checksum sum;
  sum.add(info);
  std::string text = fmt::format("{{\"schema\": \"{}\",\n\"device\": {},\n\"runs\": [", recording_schema, info);
  std::string_view separator = "\n";
  for (const Run& run : recording.runs) {
    Json line = {hex(run.hash), run.label, encode_list(run.trace.agent_sms), encode_phases(run.trace)};
    std::string seen = encode_interruptions(run.trace.interruptions);
    if (!seen.empty() || run.trace.address != 0) line.push_back(std::move(seen));
    if (run.trace.address != 0) line.push_back(hex(run.trace.address));
    append_line(line, text, separator, sum);
  }
  if (!recording.streams.empty()) text += "\n],\n\"streams\": [";
  separator = "\n";
  for (const StreamRun& run : recording.streams) {
    Json line = {hex(run.hash), run.label, encode_stream(run.trace)};
    if (!run.refusal.empty()) line.push_back(run.refusal);
    append_line(line, text, separator, sum);
  }
  if (!recording.workloads.empty()) text += "\n],\n\"workloads\": [";
  separator = "\n";
  for (const WorkloadRun& run : recording.workloads) {
    Json line = {hex(run.hash), run.label, encode_workload(run.trace), encode_list(run.trace.output)};
    if (!run.refusal.empty()) line.push_back(run.refusal);
    append_line(line, text, separator, sum);
  }
  return text + fmt::format("\n],\n\"checksum\": \"{}\"}}\n", sum.text());
}

Expected<Recording> parse_recording(std::string_view text) {
  const auto j = json::parse(text, {.depth = depth_limit, .values = value_limit});
  if (!j) return fail(Error::Kind::bad_input, "not a recording that can be used: it " + j.error().message);
  try {
    return read(*j);
  } catch (const Bad& e) {
    return fail(Error::Kind::bad_input, "not a recording that can be used: " + e.message);
  }
}

}  // namespace gputopo::replay
