#include "experiments/device_memory.hpp"

#include <algorithm>

#include "experiments/estimates.hpp"
#include "experiments/modes.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr CachePath path{"device_memory", "Device memory", program::Path::global_l2_only, slot_flush};
constexpr std::uint64_t loads = 2048;
constexpr std::uint64_t stride_bytes = 1152;  // nine lines of 128 B: no load finds what a neighbour fetched
constexpr int repetitions = 3;

}  // namespace

Walk flush_walk(const Session& session, std::uint64_t footprint_bytes) {
  Walk walk = make_walk(path, footprint_bytes, 128, 1);
  walk.lanes = std::max<std::uint32_t>(1, session.info().warps_per_block * 32);
  return walk;
}

Expected<Memory> measure_device_memory(Session& session, std::uint64_t l2_bytes) {
  Memory memory;
  memory.id = path.id;
  memory.kind = Kind::memory;
  memory.label = path.label;
  memory.attributes["size"] = from_api(static_cast<double>(session.info().memory_bytes), "B");
  // Four times the L2 leaves next to nothing of what was there, even where replacement is random.
  const std::uint64_t flush_bytes = std::max<std::uint64_t>(4 * l2_bytes, 8 << 20);
  program::Batch batch;
  for (int i = 0; i < repetitions; ++i) {
    program::Program p = make_program("device memory latency", session.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.buffers[slot_flush].size_bytes = flush_bytes + loads * repetitions * 2 * stride_bytes;
    Walk cold = recorded(make_walk(path, loads * stride_bytes, stride_bytes, 1), Record::lap_time, 1);
    cold.first_byte = flush_bytes + static_cast<std::uint64_t>(2 * i) * loads * stride_bytes;
    Walk timed = recorded(cold, Record::histogram, 1);
    timed.first_byte += loads * stride_bytes;
    p.phases = {flush_walk(session, flush_bytes), cold, timed};
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<double> latencies;
  Histogram timed;
  for (const auto& trace : *traces) {
    latencies.push_back(static_cast<double>(trace.phases[1].cycles) / loads);
    timed = merged(timed, trace.phases[2].histogram);
  }
  Estimate latency = measured(median(latencies), "cycles", "lap_time", loads * repetitions);
  latency.interval = Interval{*std::min_element(latencies.begin(), latencies.end()),
                              *std::max_element(latencies.begin(), latencies.end())};
  memory.attributes["latency"] = latency;
  // Two memory sides show as two levels; single loads carry the clock pair, which the lap's mean tells.
  const auto levels = modes_of(timed, 0.2);
  if (levels.size() == 2) {
    const double overhead = mean(timed).value_or(0) - *latency.value;
    memory.attributes["near_latency"] = measured(levels[0].median - overhead, "cycles", "timed_loads", total(timed));
    memory.attributes["far_latency"] = measured(levels[1].median - overhead, "cycles", "timed_loads", total(timed));
  }
  return memory;
}

}  // namespace gputopo::experiments
