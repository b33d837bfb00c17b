#include "device/replay/trace_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "device/replay/integer_text.hpp"

namespace gputopo::replay {
namespace {

using program::Interruptions;
using program::LatencyCount;
using program::PhaseTrace;

// What takes the memory of so many numbers of 8 bytes.
template <class T>
constexpr std::size_t numbers_of = (sizeof(T) + 7) / 8;

std::string encode_histogram(const std::vector<LatencyCount>& histogram) {
  std::string text;
  std::uint32_t before = 0;
  for (const LatencyCount& bin : histogram) {
    append_number(text, bin.latency_cycles - before);
    append_number(text, bin.count);
    before = bin.latency_cycles;
  }
  return text;
}

std::optional<std::vector<LatencyCount>> decode_histogram(std::string_view text, std::size_t limit) {
  std::vector<LatencyCount> histogram;
  std::uint64_t latency = 0;
  while (!text.empty()) {
    if (histogram.size() >= limit / numbers_of<LatencyCount>) return std::nullopt;
    const auto step = take_number(text);
    if (!step || (*step == 0 && !histogram.empty())) return std::nullopt;
    const auto count = take_number(text);
    if (!count || *step > std::numeric_limits<std::uint32_t>::max() - latency) return std::nullopt;
    latency += *step;
    histogram.push_back({static_cast<std::uint32_t>(latency), *count});
  }
  return histogram;
}

std::string encode_phase(const PhaseTrace& phase) {
  std::string text;
  append_number(text, phase.loads);
  text += ',';
  append_number(text, phase.cycles);
  text += ',' + encode_list(phase.latencies) + ',' + encode_histogram(phase.histogram);
  text += ',' + encode_list(phase.lap_cycles);
  while (text.back() == ',') text.pop_back();
  return text;
}

// Cuts `text` at the first `separator`; gives the part before it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return head;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

template <class Number>
bool plain_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<PhaseTrace> decode_phase(std::string_view text, std::size_t& budget) {
  const auto loads = whole_number(cut(text, ','));
  const auto cycles = whole_number(cut(text, ','));
  if (!loads || !cycles) return std::nullopt;
  auto latencies = decode_list<std::uint32_t>(cut(text, ','), budget);
  if (!latencies) return std::nullopt;
  budget -= latencies->size();
  auto histogram = decode_histogram(cut(text, ','), budget);
  if (!histogram) return std::nullopt;
  budget -= histogram->size() * numbers_of<LatencyCount>;
  auto laps = decode_list<std::uint64_t>(cut(text, ','), budget);
  if (!laps || !text.empty()) return std::nullopt;
  budget -= laps->size();
  return PhaseTrace{*loads, *cycles, std::move(*latencies), std::move(*laps), std::move(*histogram)};
}

}  // namespace

std::string encode_phases(const program::ProgramTrace& trace) {
  std::string text;
  for (const PhaseTrace& phase : trace.phases) {
    if (!text.empty()) text += ';';
    text += encode_phase(phase);
  }
  return text;
}

std::optional<std::vector<PhaseTrace>> decode_phases(std::string_view text, std::size_t& budget) {
  std::vector<PhaseTrace> phases;
  while (!text.empty()) {
    if (budget < numbers_of<PhaseTrace>) return std::nullopt;
    budget -= numbers_of<PhaseTrace>;
    auto phase = decode_phase(cut(text, ';'), budget);
    if (!phase) return std::nullopt;
    phases.push_back(std::move(*phase));
  }
  return phases;
}

std::string encode_interruptions(const Interruptions& seen) {
  if (seen == Interruptions{}) return {};
  return fmt::format("{},{},{}", seen.switches, seen.away_ns, seen.cycles_per_ns);
}

std::optional<Interruptions> decode_interruptions(std::string_view text) {
  Interruptions seen;
  if (text.empty()) return seen;
  if (!plain_number(cut(text, ','), seen.switches) || !plain_number(cut(text, ','), seen.away_ns) ||
      !plain_number(text, seen.cycles_per_ns))
    return std::nullopt;
  const bool is_speed = std::isfinite(seen.cycles_per_ns) && seen.cycles_per_ns >= 0;
  return is_speed ? std::optional(seen) : std::nullopt;
}

std::string encode_stream(const program::StreamTrace& t) {
  return fmt::format("{},{},{},{},{}", t.bytes, t.accesses, t.cycles, t.ns, t.sms);
}

std::optional<program::StreamTrace> decode_stream(std::string_view text) {
  program::StreamTrace t;
  const bool reads = plain_number(cut(text, ','), t.bytes) && plain_number(cut(text, ','), t.accesses) &&
                     plain_number(cut(text, ','), t.cycles) && plain_number(cut(text, ','), t.ns) &&
                     plain_number(text, t.sms);
  return reads ? std::optional(t) : std::nullopt;
}

std::string encode_workload(const program::WorkloadTrace& t) {
  std::string text = fmt::format("{},{},{},{},{}", t.cycles, t.ns, t.sms, t.local_bytes, t.registers);
  if (t.traffic) text += fmt::format(",{},{}", t.traffic->read, t.traffic->written);
  return text;
}

std::optional<program::WorkloadTrace> decode_workload(std::string_view text) {
  program::WorkloadTrace t;
  const bool reads = plain_number(cut(text, ','), t.cycles) && plain_number(cut(text, ','), t.ns) &&
                     plain_number(cut(text, ','), t.sms) && plain_number(cut(text, ','), t.local_bytes) &&
                     plain_number(cut(text, ','), t.registers);
  if (!reads || text.empty()) return reads ? std::optional(t) : std::nullopt;
  program::MemoryTraffic traffic;
  if (!plain_number(cut(text, ','), traffic.read) || !plain_number(text, traffic.written)) return std::nullopt;
  if (!std::isfinite(traffic.read) || !std::isfinite(traffic.written)) return std::nullopt;
  t.traffic = traffic;
  return t;
}

}  // namespace gputopo::replay
