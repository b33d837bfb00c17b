#include "experiments/shared.hpp"

#include <algorithm>

#include "experiments/estimates.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

constexpr std::uint64_t walk_bytes = 1024;
constexpr std::uint32_t short_laps = 2;
constexpr std::uint32_t long_laps = 10;
constexpr std::size_t repetitions = 5;

}  // namespace

Expected<Memory> measure_shared(Session& session) {
  Memory memory;
  memory.id = "shared";
  memory.kind = Kind::scratchpad;
  memory.label = "Shared memory";
  auto& attributes = memory.attributes;
  if (session.info().shared_bytes_per_sm == 0) {
    attributes["size"] = not_supported("B", "this GPU has no shared memory");
    attributes["latency"] = not_supported("cycles", "this GPU has no shared memory");
    return memory;
  }
  attributes["size"] = from_api(static_cast<double>(session.info().shared_bytes_per_sm), "B");
  program::Program p;
  p.label = "shared latency";
  p.buffers = {{program::Space::shared, walk_bytes, 0}};
  program::Walk walk;
  walk.path = program::Path::shared;
  walk.footprint_bytes = walk_bytes;
  walk.stride_bytes = 4;
  walk.record = program::Record::lap_time;
  walk.laps = short_laps;
  p.phases.emplace_back(walk);
  walk.laps = long_laps;
  p.phases.emplace_back(walk);
  auto traces = session.run(program::Batch(repetitions, p));
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<double> latencies;
  const auto loads = static_cast<double>(program::lap_loads(walk) * (long_laps - short_laps));
  for (const auto& trace : *traces)
    latencies.push_back((static_cast<double>(trace.phases[1].cycles) - static_cast<double>(trace.phases[0].cycles)) /
                        loads);
  Estimate latency = measured(median(latencies), "cycles", "lap_time", static_cast<std::uint64_t>(loads) * repetitions);
  const auto [low, high] = std::minmax_element(latencies.begin(), latencies.end());
  latency.interval = Interval{*low, *high};
  attributes["latency"] = latency;
  return memory;
}

}  // namespace gputopo::experiments
