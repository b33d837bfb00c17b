// Accesses per second of the simulator: what a discovery on a modelled GPU has to wait for.
#include <algorithm>

#include <benchmark/benchmark.h>

#include "device/sim/sim_device.hpp"

namespace {

using gputopo::program::Path;
using gputopo::program::Record;

void walk_model(benchmark::State& state, const char* model, Path path, std::uint64_t bytes, std::uint64_t stride_bytes,
                Record record) {
  const auto device = gputopo::sim::make_device(*gputopo::sim::builtin_model(model));
  gputopo::program::Walk w;
  w.path = path;
  w.footprint_bytes = bytes;
  w.stride_bytes = stride_bytes;
  w.laps = static_cast<std::uint32_t>(1 + (std::uint64_t{1} << 22) * stride_bytes / bytes);
  w.record = record;
  gputopo::program::Program p;
  const bool constant = path == Path::constant;
  p.buffers = {{constant ? gputopo::program::Space::constant : gputopo::program::Space::global, bytes, 0}};
  p.phases = {w};
  std::uint64_t loads = 0;
  for (auto _ : state) {
    const auto traces = device->run({p});
    if (!traces) {
      state.SkipWithError(traces.error().message.c_str());
      break;
    }
    loads += traces->front().phases.front().loads;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(loads));
}

// Laps by a whole block and then a sample of the loads, timed: what most programs of a discovery are.
void sample_model(benchmark::State& state, const char* model, Path path, std::uint64_t bytes,
                  std::uint64_t stride_bytes) {
  const auto device = gputopo::sim::make_device(*gputopo::sim::builtin_model(model));
  gputopo::program::Walk warm;
  warm.path = path;
  warm.footprint_bytes = bytes;
  warm.stride_bytes = stride_bytes;
  warm.laps = 2;
  warm.lanes = 1024;
  gputopo::program::Walk sample = warm;
  sample.order = gputopo::program::Order::shuffled;
  sample.loads_per_lap = std::min<std::uint64_t>(1024, bytes / stride_bytes);
  sample.laps = sample.lanes = 1;
  sample.record = Record::histogram;
  gputopo::program::Program p;
  p.buffers = {{gputopo::program::Space::global, bytes, 0}};
  p.phases = {warm, sample};
  for (auto _ : state) {
    const auto traces = device->run({p});
    if (!traces) {
      state.SkipWithError(traces.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(traces->front().phases.back().histogram);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

BENCHMARK_CAPTURE(walk_model, l1_hit_sectored_lru, "p6000", Path::texture, 24 * kib, 32, Record::nothing);
BENCHMARK_CAPTURE(walk_model, l1_hit_timed, "p6000", Path::texture, 24 * kib, 32, Record::lap_time);
BENCHMARK_CAPTURE(walk_model, l1_hit_fully_associative, "h200", Path::global_cached, 240 * kib, 32, Record::nothing);
BENCHMARK_CAPTURE(walk_model, l1_thrash_h200, "h200", Path::global_cached, 400 * kib, 128, Record::histogram);
BENCHMARK_CAPTURE(walk_model, constant_l1_5_hit, "h200", Path::constant, 48 * kib, 64, Record::nothing);
BENCHMARK_CAPTURE(walk_model, l2_hit_p6000, "p6000", Path::global_l2_only, 3 * mib, 32, Record::nothing);
BENCHMARK_CAPTURE(walk_model, l2_thrash_p6000, "p6000", Path::global_l2_only, 5 * mib, 128, Record::nothing);
BENCHMARK_CAPTURE(walk_model, l2_hit_h200, "h200", Path::global_l2_only, 50 * mib, 128, Record::lap_time);
BENCHMARK_CAPTURE(walk_model, l2_thrash_h200, "h200", Path::global_l2_only, 80 * mib, 128, Record::lap_time);
BENCHMARK_CAPTURE(sample_model, l1_h200, "h200", Path::global_cached, 240 * kib, 32);
BENCHMARK_CAPTURE(sample_model, l2_p6000, "p6000", Path::global_l2_only, 4 * mib, 32);
BENCHMARK_CAPTURE(sample_model, l2_h200, "h200", Path::global_l2_only, 50 * mib, 32);
BENCHMARK_CAPTURE(sample_model, l2_every_fourth_line_h200, "h200", Path::global_l2_only, 50 * mib, 512);

}  // namespace

BENCHMARK_MAIN();
