#include "experiments/hit_latency.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/estimates.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;

constexpr std::uint32_t short_laps = 16;
constexpr std::uint32_t long_laps = 144;
constexpr std::size_t repetitions = 5;  // on as many SMs

}  // namespace

Expected<HitLatency> measure_hit_latency(Session& session, const CachePath& path, std::uint64_t footprint_bytes,
                                         std::uint64_t stride_bytes) {
  program::Program p = make_program(fmt::format("{} hit latency", path.id), session.info(), path.slot);
  const program::Walk walk = make_walk(path, footprint_bytes, stride_bytes, 1);
  p.phases = {make_walk(path, footprint_bytes, stride_bytes, 2), recorded(walk, Record::lap_time, short_laps),
              recorded(walk, Record::lap_time, long_laps), recorded(walk, Record::histogram, 8)};
  auto traces = session.run(program::Batch(repetitions, p));
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<double> latencies, overheads;
  Histogram timed;
  const auto loads = static_cast<double>(program::lap_loads(walk) * (long_laps - short_laps));
  for (const auto& trace : *traces) {
    latencies.push_back((static_cast<double>(trace.phases[2].cycles) - static_cast<double>(trace.phases[1].cycles)) /
                        loads);
    timed = merged(timed, trace.phases[3].histogram);
    // Mean less mean, SM by SM: right whether all loads take equally long or some lie further away.
    overheads.push_back(mean(trace.phases[3].histogram).value_or(0) - latencies.back());
  }
  HitLatency hit;
  hit.estimate = measured(median(latencies), "cycles", "lap_time", static_cast<std::uint64_t>(loads) * repetitions);
  const auto [low, high] = std::minmax_element(latencies.begin(), latencies.end());
  hit.estimate.interval = Interval{*low, *high};
  hit.timed_cycles = quantile(timed, 0.5).value_or(0);
  hit.timed_spread = quantile(timed, 0.99).value_or(0) - hit.timed_cycles;
  hit.overhead_cycles = std::max(0.0, median(overheads));
  return hit;
}

double miss_threshold(const HitLatency& hit) {
  const double latency = hit.estimate.value.value_or(0);
  return hit.timed_cycles + std::max({10.0, 0.3 * latency, 2 * hit.timed_spread});
}

}  // namespace gputopo::experiments
