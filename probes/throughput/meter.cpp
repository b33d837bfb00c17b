#include "throughput/meter.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "change_point/robust.hpp"

namespace gputopo::throughput {
namespace {

constexpr std::uint32_t most_laps = 1U << 22U;

std::string size_text(std::uint64_t bytes) {
  if (bytes % (1U << 20U) == 0) return fmt::format("{} MiB", bytes >> 20U);
  if (bytes % 1024 == 0) return fmt::format("{} KiB", bytes >> 10U);
  return fmt::format("{} B", bytes);
}

std::optional<double> rate_of(const program::StreamTrace& t, Rate rate) {
  const double time = static_cast<double>(rate == Rate::bytes_per_second ? t.ns : t.cycles);
  if (time == 0 || t.sms == 0) return std::nullopt;
  switch (rate) {
    case Rate::bytes_per_sm_cycle:
      return static_cast<double>(t.bytes) / t.sms / time;
    case Rate::bytes_per_second:
      return static_cast<double>(t.bytes) / time * 1e9;
    case Rate::cycles_per_access:
      return time * t.sms / static_cast<double>(t.accesses);
    case Rate::additions_per_cycle:
      return static_cast<double>(t.accesses) * program::warp_lanes / time;
  }
  return std::nullopt;
}

}  // namespace

std::string_view unit_of(Rate rate) {
  switch (rate) {
    case Rate::bytes_per_sm_cycle:
      return "B/cycle";
    case Rate::bytes_per_second:
      return "B/s";
    case Rate::cycles_per_access:
      return "cycles";
    case Rate::additions_per_cycle:
      return "1/cycle";
  }
  return "";
}

Expected<program::StreamTrace> Meter::trace(const program::Stream& stream) {
  if (stop_ != nullptr && stop_->load()) return fail(Error::Kind::interrupted, "interrupted");
  return device_.run_stream(stream);
}

Expected<double> Meter::once(const program::Stream& stream, Rate rate) {
  const auto ran = trace(stream);
  if (!ran) return tl::unexpected<Error>(ran.error());
  const auto value = rate_of(*ran, rate);
  if (!value)
    return fail(Error::Kind::unavailable,
                fmt::format("stream '{}' has no time in {}", stream.label,
                            rate == Rate::bytes_per_second ? "nanoseconds: the clock isn't known" : "cycles"));
  return *value;
}

Expected<program::WorkloadTrace> Meter::run(const program::Workload& workload) {
  if (stop_ != nullptr && stop_->load()) return fail(Error::Kind::interrupted, "interrupted");
  return device_.run_workload(workload);
}

Expected<Sample> Meter::measure(const program::Stream& stream, Rate rate, int runs) {
  std::vector<double> values;
  for (int i = 0; i < runs; ++i) {
    const auto value = once(stream, rate);
    if (!value) return tl::unexpected<Error>(value.error());
    values.push_back(*value);
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return Sample{change_point::median(values), {*low, *high}, values.size()};
}

Expected<Sample> Meter::measure(const program::Workload& workload,
                                const std::function<double(const program::WorkloadTrace&)>& of, int runs) {
  std::vector<double> values;
  for (int i = 0; i < runs; ++i) {
    const auto trace = run(workload);
    if (!trace) return tl::unexpected<Error>(trace.error());
    values.push_back(of(*trace));
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return Sample{change_point::median(values), {*low, *high}, values.size()};
}

Estimate estimate_of(const Sample& sample, std::string_view unit, std::string_view method) {
  Estimate e;
  e.value = sample.median;
  e.unit = unit;
  e.status = Status::measured;
  e.method = method;
  e.interval = sample.range;
  e.interval_kind = "range";
  e.samples = sample.runs;
  return e;
}

std::string configuration_of(const program::Stream& s, std::uint32_t sm_count) {
  if (program::is_transfer(s.operation))
    return fmt::format("copies of {} from and to page-locked memory", size_text(s.footprint_bytes));
  const bool is_bulk = s.arrangement == program::Arrangement::bulk;
  std::string text = fmt::format(
      "{}{} in flight, ",
      is_bulk ? "copies of " + size_text(s.bulk_bytes) + ", " : fmt::format("{} B, ", s.access_bytes), s.unroll);
  if (s.one_shot)
    text += fmt::format("{} threads a block, each once", s.threads);
  else
    text += fmt::format("{} threads x {} an SM", s.threads, (s.blocks + sm_count - 1) / std::max(1U, sm_count));
  const char* whose = s.region == program::Region::block      ? " a block"
                      : s.region == program::Region::all      ? " for all"
                      : s.region == program::Region::together ? " for all, from one start"
                                                              : "";
  return text + fmt::format(", {}{}", size_text(s.footprint_bytes), whose);
}

std::uint32_t laps_for(const program::Stream& stream, double bytes, std::uint32_t least) {
  program::Stream one = stream;
  one.laps = 1;
  const double laps = std::ceil(bytes / static_cast<double>(program::counted_bytes(one)));
  return std::max(least, static_cast<std::uint32_t>(std::min<double>(laps, most_laps)));
}

bool leaves_open(const Error& error) {
  return error.kind == Error::Kind::unavailable;
}

}  // namespace gputopo::throughput
