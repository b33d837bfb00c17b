#include "device/sim/runner.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "device/sim/noise.hpp"
#include "program/order.hpp"

namespace gputopo::sim {
namespace {

using program::Execute;
using program::Path;
using program::PhaseTrace;
using program::Program;
using program::Record;
using program::Space;
using program::Walk;

// Address ranges of the spaces, far apart. The kernel's own constant bank comes first, then the modules' banks.
constexpr std::uint32_t buffer_shift = 40;
constexpr std::uint64_t constant_base = std::uint64_t{1} << 57;
constexpr std::uint64_t code_base = std::uint64_t{1} << 58;

// Counts latencies: small ones by index, rare large ones in a map.
class Histogram {
 public:
  void add(std::uint32_t latency_cycles) {
    if (latency_cycles < small_.size())
      ++small_[latency_cycles];
    else
      ++large_[latency_cycles];
  }
  std::vector<program::LatencyCount> counts() const {
    std::vector<program::LatencyCount> result;
    for (std::uint32_t i = 0; i < small_.size(); ++i)
      if (small_[i] != 0) result.push_back({i, small_[i]});
    for (const auto& [latency, count] : large_) result.push_back({latency, count});
    return result;
  }

 private:
  std::vector<std::uint64_t> small_ = std::vector<std::uint64_t>(4096, 0);
  std::map<std::uint32_t, std::uint64_t> large_;
};

class Runner {
 public:
  Runner(const Model& model, Hierarchy& hierarchy, const Program& program, std::uint32_t default_sm,
         std::uint64_t run_number)
      : model_(model),
        hierarchy_(hierarchy),
        program_(program),
        default_sm_(default_sm),
        replacement_(mix(model.noise.seed ^ mix(program::hash(program) ^ mix(run_number)))),
        noise_(model.noise, replacement_.bits()) {}

  program::ProgramTrace run() {
    program::ProgramTrace trace;
    for (const program::Agent& a : program_.agents) trace.agent_sms.push_back(a.sm.value_or(default_sm_));
    carve(trace.agent_sms);
    for (const std::uint32_t sm : trace.agent_sms) hierarchy_.launch(sm);
    for (const program::Phase& phase : program_.phases) {
      const std::uint32_t agent = std::visit([](const auto& p) { return p.agent; }, phase);
      sm_ = trace.agent_sms[agent];
      warp_ = program_.agents[agent].warp;
      find_background();
      trace.phases.push_back(std::visit([this](const auto& p) { return perform(p); }, phase));
    }
    return trace;
  }

 private:
  void carve(const std::vector<std::uint32_t>& sms) {
    if (!model_.shared) return;
    std::uint64_t needed = 0;
    for (const program::Buffer& b : program_.buffers)
      if (b.space == Space::shared) needed += b.size_bytes;
    if (needed != 0) needed += model_.shared->block_reserved_bytes;
    const std::uint64_t bytes = carve_out_bytes(*model_.shared, program_.carve_out_percent, needed);
    for (const std::uint32_t sm : sms) hierarchy_.set_carve_out(sm, bytes);
  }

  // The loop around the loads reads the kernel's own constants and code at the start of each lap.
  void begin_lap() {
    for (const std::uint64_t at : background_constants_) hierarchy_.pass(*constant_route_, at, replacement_);
    for (const std::uint64_t at : background_code_) hierarchy_.pass(*code_route_, at, replacement_);
  }

  void find_background() {
    const BackgroundModel& b = model_.background;
    background_constants_.clear();
    background_code_.clear();
    if (b.constant_bytes != 0) {
      const PathModel& path = *model_.path(Path::constant);
      constant_route_ = hierarchy_.route(path, sm_, warp_, false);
      for (std::uint64_t at = 0; at < b.constant_bytes; at += step_bytes(path))
        background_constants_.push_back(constant_base + b.constant_offset_bytes + at);
    }
    if (b.code_bytes != 0) {
      const PathModel& path = model_.execution->path;
      code_route_ = hierarchy_.route(path, sm_, warp_, false);
      for (std::uint64_t at = 0; at < b.code_bytes; at += step_bytes(path))
        background_code_.push_back(code_base + model_.execution->limit_bytes + at);
    }
  }

  // What one fetch of the path's first level brings in.
  std::uint64_t step_bytes(const PathModel& path) const {
    return path.front().cache ? model_.caches[*path.front().cache].sector_bytes : 32;
  }

  std::uint64_t base_of(std::uint32_t buffer) const {
    const program::Buffer& b = program_.buffers[buffer];
    if (b.space == Space::constant)
      return constant_base + (std::uint64_t{b.module} + 1) * model_.constant_bytes_per_module;
    return std::uint64_t{buffer} << buffer_shift;
  }

  PhaseTrace perform(const Walk& w) {
    if (w.path == Path::shared) return record(w, [this](std::uint64_t) { return model_.shared->latency_cycles; });
    Route route = hierarchy_.route(*model_.path(w.path), sm_, warp_, w.path == Path::global_no_allocate);
    const std::uint64_t base = base_of(w.buffer) + w.first_byte;
    return record(w, [&](std::uint64_t offset) { return hierarchy_.load(route, base + offset, replacement_); });
  }

  template <class Load>
  PhaseTrace record(const Walk& w, const Load& load) {
    PhaseTrace trace;
    trace.loads = program::lap_loads(w) * w.laps;
    const double overhead = model_.clock_overhead_cycles[static_cast<std::size_t>(w.path)];
    switch (w.record) {
      case Record::nothing:
        each_load(w, w.laps, [&](std::uint64_t offset) { load(offset); });
        break;
      case Record::lap_time:
        each_load(w, w.laps, [&](std::uint64_t offset) { trace.cycles += noise_.observe(load(offset)); });
        break;
      case Record::lap_times:
        trace.lap_cycles.resize(w.laps);
        for (std::uint64_t& cycles : trace.lap_cycles)
          each_load(w, 1, [&](std::uint64_t offset) { cycles += noise_.observe(load(offset)); });
        break;
      case Record::histogram: {
        Histogram histogram;
        each_load(w, w.laps, [&](std::uint64_t offset) { histogram.add(noise_.observe(load(offset) + overhead)); });
        trace.histogram = histogram.counts();
        break;
      }
      case Record::latencies:
        each_load(w, w.laps - 1, [&](std::uint64_t offset) { load(offset); });
        trace.latencies.reserve(program::lap_loads(w));
        each_load(w, 1,
                  [&](std::uint64_t offset) { trace.latencies.push_back(noise_.observe(load(offset) + overhead)); });
        break;
    }
    return trace;
  }

  template <class Visit>
  void each_load(const Walk& w, std::uint32_t laps, const Visit& visit) {
    const std::uint64_t count = program::positions(w);
    const std::uint64_t loads = program::lap_loads(w);
    const program::Stepping s = program::stepping(w.order, w.order_seed, count);
    for (std::uint32_t lap = 0; lap < laps; ++lap) {
      begin_lap();
      std::uint64_t position = s.first;
      for (std::uint64_t k = 0; k < loads; ++k) {
        visit(position * w.stride_bytes);
        position = program::advance(position, s.step, count);
      }
    }
  }

  PhaseTrace perform(const Execute& e) {
    const ExecutionModel& x = *model_.execution;
    Route route = hierarchy_.route(x.path, sm_, warp_, false);
    const std::uint64_t code_bytes = (e.code_bytes + x.unit_bytes - 1) / x.unit_bytes * x.unit_bytes;
    const std::uint64_t step = step_bytes(x.path);
    const double issue_cycles =
        x.cycles_per_instruction * static_cast<double>(step) / static_cast<double>(x.instruction_bytes);
    PhaseTrace trace;
    for (std::uint32_t lap = 0; lap < e.laps; ++lap) {
      begin_lap();
      for (std::uint64_t at = 0; at < code_bytes; at += step) {
        const double cycles = hierarchy_.load(route, code_base + at, replacement_) + issue_cycles;
        if (e.timed) trace.cycles += noise_.observe(cycles);
        ++trace.loads;
      }
    }
    return trace;
  }

  const Model& model_;
  Hierarchy& hierarchy_;
  const Program& program_;
  std::uint32_t default_sm_;
  Random replacement_;
  Noise noise_;
  std::uint32_t sm_ = 0;
  std::uint32_t warp_ = 0;
  std::optional<Route> constant_route_, code_route_;
  std::vector<std::uint64_t> background_constants_, background_code_;
};

}  // namespace

program::ProgramTrace run_program(const Model& model, Hierarchy& hierarchy, const Program& program,
                                  std::uint32_t default_sm, std::uint64_t run_number) {
  return Runner(model, hierarchy, program, default_sm, run_number).run();
}

}  // namespace gputopo::sim
