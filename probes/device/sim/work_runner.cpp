#include "device/sim/work_runner.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "device/sim/random.hpp"
#include "device/sim/stream_runner.hpp"
#include "device/sim/work_cost.hpp"
#include "stop/stop.hpp"

namespace gputopo::sim {
namespace {

using program::Workload;
using program::WorkloadTrace;

constexpr std::uint32_t usual_sector_bytes = 32;
constexpr std::uint64_t element_bytes = 4;
constexpr std::uint64_t counted_line_bytes = 128;

double as_double(std::uint64_t n) {
  return static_cast<double>(n);
}

// The L2, and the sector of the cache before it: what stores fill.
struct Caches {
  const CacheModel* l2 = nullptr;
  std::uint32_t sector_bytes = usual_sector_bytes;
};

Caches caches_of(const Model& m) {
  Caches found;
  const auto& path = m.path(program::Path::global_cached);
  if (!path) return found;
  for (const Level& level : *path) {
    if (!level.cache) continue;
    const CacheModel& c = m.caches[*level.cache];
    if (is_beyond_sms(m, *level.cache)) {
      found.l2 = &c;
      return found;
    }
    found.sector_bytes = static_cast<std::uint32_t>(c.sector_bytes);
  }
  return found;
}

}  // namespace

Expected<WorkloadTrace> WorkRunner::product(const Workload& w) {
  const auto [l2, first_sector] = caches_of(model_);
  if (l2 == nullptr)
    return fail(Error::Kind::unavailable, "this GPU has no L2, so nothing passes between it and memory");
  // As the prediction takes it: what stores fill is a part of what loads fetch. No line has over 32 of them.
  const auto line = static_cast<std::uint32_t>(l2->line_bytes);
  const std::uint32_t wanted = l2->sector_bytes % first_sector == 0 ? first_sector : usual_sector_bytes;
  const std::uint32_t sector = std::clamp(wanted, std::max(1U, line / 32), line);
  if (l2_ == nullptr) l2_ = std::make_unique<TrafficCache>(usable_bytes(*l2, 0), line, sector);
  const std::uint32_t fetch = w.fetch_bytes != 0 ? w.fetch_bytes : static_cast<std::uint32_t>(l2->sector_bytes);
  const std::uint64_t step = element_bytes * w.numbers[0];
  const std::uint64_t bytes = element_bytes * w.numbers[1];
  // Three vectors, far apart. Threads side by side use neighbouring elements, so a sector is asked for once.
  const std::uint64_t apart = (bytes / (std::uint64_t{1} << 30U) + 1) << 30U;
  for (std::uint64_t at = 0; at < bytes;) {
    stop::look();
    l2_->load(at, fetch);
    l2_->load(apart + at, fetch);
    l2_->store(2 * apart + at, step == element_bytes);
    // Past the elements of the same sector.
    at += step >= sector ? step : (sector - at % sector + step - 1) / step * step;
  }
  WorkloadTrace trace;
  trace.traffic = l2_->take();
  return trace;
}

Expected<WorkloadTrace> WorkRunner::sweep(const Workload& w) {
  was_swept_ = true;
  WorkloadTrace trace;
  trace.traffic = program::MemoryTraffic{};
  if (l2_ != nullptr) {
    l2_->flush();
    trace.traffic = l2_->take();
  }
  trace.traffic->read += static_cast<double>(w.numbers[0]);
  return trace;
}

// Histograms count nothing here but how many values they were given.
bool WorkRunner::count(const Workload& w, WorkloadTrace& trace) {
  if (w.kernel == "fill") {
    values_alike_ = w.numbers[1] != 0;
  } else if (w.kernel == "histogram_counts") {
    trace.output.front() = static_cast<std::uint32_t>(values_counted_);
    values_counted_ = 0;
  } else {
    return false;
  }
  return true;
}

// Additions a cycle by a stream whose lanes and warps are so far apart: of one SM's blocks as many as there are SMs.
Expected<double> WorkRunner::addition_rate(program::Path path, std::uint64_t lane_stride, std::uint64_t warp_stride,
                                           std::uint32_t threads, std::uint64_t run) {
  program::Stream add;
  add.path = path;
  add.operation = program::Operation::add;
  add.arrangement = program::Arrangement::fixed;
  add.region = path == program::Path::shared ? program::Region::block : program::Region::grid;
  add.threads = threads;
  add.blocks = model_.gpu.sm_count;
  add.lane_stride_bytes = lane_stride;
  add.warp_stride_bytes = warp_stride;
  add.footprint_bytes = 4096;
  const auto added = run_stream(model_, add, run);
  if (!added) return tl::unexpected<Error>(added.error());
  return static_cast<double>(added->accesses) * program::warp_lanes / static_cast<double>(added->cycles);
}

// Of an addition for each value, to 256 words in memory or in each block's shared memory.
Expected<double> WorkRunner::counting_cycles(const Workload& w, std::uint64_t run) {
  constexpr double turns_of_random_lanes = 3.53;  // most lanes in one of 32 banks, on average
  constexpr double random_sectors = 20.4;         // of 32, those that 32 lanes ask for
  constexpr double lanes_again = 1.85;            // that want a word of 256 that another one wants
  constexpr std::uint32_t threads = 1024;
  const double values = as_double(w.numbers[0]);
  const bool is_global = w.kernel == "histogram_global";
  const auto path = is_global ? program::Path::global_cached : program::Path::shared;
  const bool own_banks = w.kernel == "histogram_copies" || w.kernel == "histogram_wide";
  const auto to_one = addition_rate(path, 0, 0, threads, run);
  if (!to_one) return to_one;
  if (is_global && values_alike_) return values / *to_one;
  if (is_global) {
    const auto to_sectors = addition_rate(path, usual_sector_bytes, 0, threads, run);
    if (!to_sectors) return to_sectors;
    return values / program::warp_lanes * (random_sectors / *to_sectors + lanes_again / *to_one);
  }
  const auto spread = addition_rate(path, element_bytes, counted_line_bytes, threads, run);
  if (!spread) return spread;
  const double rate = own_banks ? *spread : values_alike_ ? *to_one : *spread / turns_of_random_lanes;
  return values / rate;
}

// As its additions or its reading take, whichever is longer, by the very streams that are made of them; then what
// blocks counted is added.
Expected<double> WorkRunner::histogram_cycles(const Workload& w, std::uint64_t run) {
  values_counted_ += w.numbers[0];
  const auto counting = counting_cycles(w, run);
  if (!counting) return counting;
  program::Stream read;
  read.access_bytes = w.kernel == "histogram_wide" ? 16 : 4;
  read.threads = w.threads;
  read.blocks = w.blocks;
  read = program::fitted(read, w.numbers[0]);
  const auto seen = run_stream(model_, read, run);
  if (!seen) return tl::unexpected<Error>(seen.error());
  const double reading = as_double(seen->cycles) * as_double(w.numbers[0]) / as_double(seen->bytes);
  constexpr std::uint32_t bins = 256;
  double adding = 0;
  if (w.kernel != "histogram_global") {
    const auto rate = addition_rate(program::Path::global_cached, element_bytes, counted_line_bytes, bins, run);
    if (!rate) return rate;
    adding = as_double(w.blocks) * bins / *rate;
  }
  return std::max(*counting, reading) + adding;
}

Expected<double> WorkRunner::cycles_of(const Workload& w, WorkloadTrace& trace, std::uint64_t run) {
  const auto unknown = [&] {
    return fail(Error::Kind::unavailable,
                fmt::format("workload '{}': this model doesn't say how long that takes", w.label));
  };
  if (!model_.throughput) return unknown();
  const ThroughputModel& t = *model_.throughput;
  if (w.kernel.starts_with("histogram_")) return histogram_cycles(w, run);
  const bool chases = w.kernel.starts_with("l2_chase");
  const std::optional<double> cycles =
      chases ? chase_cycles(model_, t, w, was_swept_) : work_cycles(model_, t, w, trace);
  if (chases) was_swept_ = false;
  return cycles ? Expected<double>(*cycles) : unknown();
}

Expected<WorkloadTrace> WorkRunner::run(const Workload& w, std::uint64_t run) {
  if (w.kernel == "product") return product(w);
  if (w.kernel == "sweep") return sweep(w);
  WorkloadTrace trace;
  trace.output.resize(w.output_words);
  if (count(w, trace)) return trace;
  auto cycles = cycles_of(w, trace, run);
  if (!cycles) return tl::unexpected<Error>(cycles.error());
  if (!w.timed) return trace;
  Random random(model_.noise.seed ^ mix(run));
  *cycles *= std::max(0.5, 1 + model_.throughput->noise * random.normal());
  trace.cycles = static_cast<std::uint64_t>(std::llround(*cycles));
  if (model_.gpu.clock_khz != 0)
    trace.ns = static_cast<std::uint64_t>(std::llround(*cycles * 1e6 / static_cast<double>(model_.gpu.clock_khz)));
  trace.sms = std::min(w.blocks, model_.gpu.sm_count);
  return trace;
}

}  // namespace gputopo::sim
