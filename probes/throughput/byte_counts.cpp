#include "throughput/byte_counts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "counters/metrics.hpp"

namespace gputopo::throughput {
namespace {

using program::Operation;
using program::Stream;

constexpr double tolerance = 0.01;

// The metrics that count what such a stream moves; empty where there is none.
counters::Metrics metrics_of(const counters::ByteMetrics& m, const Stream& s) {
  counters::Metrics metrics;
  // What comes to the device is read from the host.
  const bool gives =
      s.operation == Operation::read || s.operation == Operation::copy || s.operation == Operation::upload;
  const bool takes =
      s.operation == Operation::write || s.operation == Operation::copy || s.operation == Operation::download;
  if (gives) metrics.emplace_back(m.given);
  if (takes && !m.taken.empty()) metrics.emplace_back(m.taken);
  return metrics;
}

// With the lap that warms up.
double bytes_of_run(const Stream& s) {
  const double warm = s.one_shot || s.laps > 1 ? 1 : 0;
  return static_cast<double>(program::counted_bytes(s)) * (s.laps + warm) / s.laps;
}

Expected<double> counted_bytes(const Setting& setting, counters::Counter& counter, const counters::Metrics& metrics,
                               const Stream& s) {
  if (auto ok = counter.start(metrics, 1); !ok) return tl::unexpected<Error>(ok.error());
  if (auto ok = counter.begin_stretch(); !ok) return tl::unexpected<Error>(ok.error());
  const auto ran = setting.meter.trace(s);
  if (auto ok = counter.end_stretch(); !ok) return tl::unexpected<Error>(ok.error());
  const auto values = counter.stop();
  if (!ran) return tl::unexpected<Error>(ran.error());
  if (!values) return tl::unexpected<Error>(values.error());
  double sum = 0;
  for (const auto& stretch : *values)
    for (const double value : stretch) sum += value;
  return sum;
}

void compare(Finding& f, const Stream& s, const CountedBytes& bytes, bool with_headers) {
  f.bytes = bytes;
  const bool is_of_all = program::is_of_all(s.region) && f.memory == "l2";
  const double more = bytes.by_counter / bytes.by_count - 1;
  if (is_of_all || (more >= -tolerance && (more <= tolerance || with_headers))) return;
  Estimate& e = f.estimate;
  e.note = fmt::format(
      "measured {:.6g} {} for {:.5g} bytes by count, of which the counters saw {:.5g}: an error of the "
      "measurement",
      e.value.value_or(0), e.unit, bytes.by_count, bytes.by_counter);
  e.status = Status::inconclusive;
  e.value.reset();
  e.interval.reset();
}

}  // namespace

Expected<void> count_bytes(const Setting& setting, const std::vector<Reached>& reached, Result& result) {
  if (!setting.open_counter || setting.meter.info().simulated) return {};
  const auto say = [&](const Error& error) { result.notes.push_back("bytes by counters: " + error.message); };
  const auto counter = setting.open_counter();
  const auto chip = counter ? counters::find_chip((*counter)->chip()) : tl::unexpected<Error>(counter.error());
  if (!chip) {
    say(chip.error());
    return {};
  }
  for (const Reached& r : reached) {
    Finding& finding = result.findings[r.finding];
    const counters::ByteMetrics* m = chip->find_bytes(finding.memory);
    const counters::Metrics metrics = m != nullptr ? metrics_of(*m, r.stream) : counters::Metrics{};
    if (metrics.empty()) continue;
    const auto pieces = counted_bytes(setting, **counter, metrics, r.stream);
    if (!pieces && pieces.error().kind == Error::Kind::interrupted) return tl::unexpected<Error>(pieces.error());
    if (!pieces) {
      say(pieces.error());
      continue;
    }
    const std::uint64_t piece = std::min<std::uint64_t>(m->unit_bytes, program::warp_bytes(r.stream));
    compare(finding, r.stream, {bytes_of_run(r.stream), *pieces * static_cast<double>(piece)}, m->counts_headers);
  }
  return {};
}

}  // namespace gputopo::throughput
