#include "counted_gpu.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "device/sim/sim_device.hpp"
#include "device/sim/work_cost.hpp"

namespace gputopo::experiments {
namespace {

using program::Path;
using program::Record;
using program::Walk;

// What a launch counts though it loads nothing.
constexpr double base_loads = 158;
constexpr double base_misses = 37;

// The level of a path whose misses a metric counts; absent where the metric counts another path.
std::optional<std::size_t> level_of(const std::string& metric, Path path) {
  const auto counts = [&](const char* unit) { return metric.find(unit) != std::string::npos; };
  const bool l1_load = path == Path::global_cached || path == Path::read_only;
  if (counts("pipe_lsu")) return l1_load ? std::optional<std::size_t>(0) : std::nullopt;
  if (counts("pipe_tex")) return path == Path::texture ? std::optional<std::size_t>(0) : std::nullopt;
  if (counts("idc__")) return path == Path::constant ? std::optional<std::size_t>(0) : std::nullopt;
  if (counts("type_constant")) return path == Path::constant ? std::optional<std::size_t>(1) : std::nullopt;
  // Behind an L0 that nothing counts.
  if (counts("icc")) return path == Path::instruction ? std::optional<std::size_t>(1) : std::nullopt;
  if (counts("type_instruction")) return path == Path::instruction ? std::optional<std::size_t>(2) : std::nullopt;
  if (counts("lts__")) return path == Path::global_l2_only ? std::optional<std::size_t>(0) : std::nullopt;
  return std::nullopt;
}

bool is_load_metric(const std::string& metric, Path path) {
  if (metric.find("op_global_ld") != std::string::npos)
    return path == Path::global_cached || path == Path::read_only || path == Path::global_l2_only;
  if (metric.find("op_texture") != std::string::npos) return path == Path::texture;
  if (metric.find("op_ldc") != std::string::npos) return path == Path::constant;
  return false;
}

}  // namespace

sim::Model quiet_model() {
  auto model = sim::builtin_model("h200");
  if (!model) throw std::runtime_error(model.error().message);
  model->noise = {};
  model->distance = {};
  model->tlbs.clear();
  for (auto& path : model->paths)
    if (path)
      for (sim::Level& level : *path) {
        level.tlbs.clear();
        level.far_latency_cycles = level.latency_cycles;
      }
  return *model;
}

CountedGpu::CountedGpu(sim::Model model, Faults faults)
    : model_(model), faults_(faults), device_(sim::make_device(std::move(model))) {}

void CountedGpu::count(const program::Program& program, const program::ProgramTrace& trace, Counts& counts) const {
  for (std::size_t i = 0; i < program.phases.size(); ++i) {
    const auto* walk = std::get_if<Walk>(&program.phases[i]);
    if (walk == nullptr) continue;
    const auto& path = *model_.path(walk->path);
    for (const std::string& metric : counting_) {
      if (is_load_metric(metric, walk->path)) counts.misses[metric] += static_cast<double>(trace.phases[i].loads);
      const auto level = level_of(metric, walk->path);
      if (!level) continue;
      const double served =
          path[*level].latency_cycles + model_.clock_overhead_cycles[static_cast<std::size_t>(walk->path)];
      for (const auto& bin : trace.phases[i].histogram)
        if (bin.latency_cycles > served + 3)
          counts.misses[metric] += static_cast<double>(bin.count) * (1 - faults_.loses_misses);
    }
  }
}

// Cycles of all slices, of the busiest and of their mean, as asked for: an addition of a lane is one.
counters::Values CountedGpu::slice_counts(const program::Workload& workload) const {
  const sim::ThroughputModel& t = *model_.throughput;
  std::map<std::uint64_t, double> by_slice;
  double all = 0, most = 0;
  for (std::size_t sm = 0; sm < workload.blocks; ++sm)
    for (std::size_t i = 0; i < workload.input[2 * sm + 1]; ++i, ++all) {
      const std::uint32_t line = workload.input[workload.input[2 * sm] + i];
      most = std::max(most, ++by_slice[sim::slice_of_line(t, line) / faults_.merges_slices]);
    }
  const double slices = std::ceil(t.slices / static_cast<double>(faults_.merges_slices));
  counters::Values values;
  for (const std::string& metric : counting_)
    values.push_back(metric.ends_with(".max") ? most : metric.ends_with(".avg") ? all / slices : all);
  return values;
}

Expected<program::WorkloadTrace> CountedGpu::run_workload(const program::Workload& workload) {
  if (is_counting_ && in_stretch_) values_.push_back(slice_counts(workload));
  return device_->run_workload(workload);
}

Expected<std::vector<program::ProgramTrace>> CountedGpu::run(const program::Batch& batch) {
  ++launches_;
  const bool counts = is_counting_ && in_stretch_;
  std::vector<program::ProgramTrace> claimed;
  Counts seen;
  for (const program::Program& asked : batch) {
    program::Program done = asked;
    std::vector<std::size_t> origin;
    done.phases.clear();
    for (std::size_t i = 0; i < asked.phases.size(); ++i) {
      program::Phase phase = asked.phases[i];
      if (auto* walk = std::get_if<Walk>(&phase)) {
        if (walk->record == Record::nothing && faults_.drops_warm_up) continue;
        if (walk->record == Record::nothing && walk->lanes == 1) walk->record = Record::histogram;
        if (counts && faults_.hoists_a_load && walk->record == Record::histogram && program::lap_loads(*walk) > 1)
          walk->loads_per_lap = program::lap_loads(*walk) - 1;
      }
      done.phases.push_back(phase);
      origin.push_back(i);
    }
    auto traces = device_->run({done});
    if (!traces) return traces;
    if (counts) count(done, traces->front(), seen);
    program::ProgramTrace claim;
    claim.agent_sms = traces->front().agent_sms;
    claim.phases.resize(asked.phases.size());
    for (std::size_t i = 0; i < asked.phases.size(); ++i)
      if (const auto* walk = std::get_if<Walk>(&asked.phases[i]))
        claim.phases[i].loads = program::lap_loads(*walk) * walk->laps;
    const bool calibrates = asked.label.find("hit latency") != std::string::npos;
    for (std::size_t k = 0; k < origin.size(); ++k) {
      const auto* walk = std::get_if<Walk>(&asked.phases[origin[k]]);
      if (walk == nullptr || walk->record == Record::nothing) continue;
      program::PhaseTrace& phase = claim.phases[origin[k]];
      const std::uint64_t loads = phase.loads;
      phase = traces->front().phases[k];
      if (!phase.histogram.empty()) phase.histogram.front().count += loads - phase.loads;
      phase.loads = loads;
      if (!calibrates) continue;
      phase.cycles = static_cast<std::uint64_t>(static_cast<double>(phase.cycles) * faults_.stretches_hits);
      for (auto& bin : phase.histogram)
        bin.latency_cycles = static_cast<std::uint32_t>(bin.latency_cycles * faults_.stretches_hits);
    }
    claimed.push_back(std::move(claim));
  }
  if (counts) {
    counters::Values values;
    for (const std::string& metric : counting_)
      values.push_back(seen.misses[metric] + (metric.starts_with("smsp__") ? base_loads : base_misses));
    values_.push_back(std::move(values));
  }
  return claimed;
}

Expected<std::size_t> CountedGpu::passes(const counters::Metrics& metrics) {
  return (metrics.size() + 2) / 3;
}

Expected<void> CountedGpu::start(const counters::Metrics& metrics, std::size_t /*stretches*/) {
  if (is_counting_) return fail(Error::Kind::bad_input, "counting has begun already");
  if (*passes(metrics) != 1) return fail(Error::Kind::bad_input, "too many metrics");
  counting_ = metrics;
  is_counting_ = true;
  values_.clear();
  return {};
}

Expected<void> CountedGpu::begin_stretch() {
  if (!is_counting_ || in_stretch_) return fail(Error::Kind::bad_input, "a stretch begins in another or uncounted");
  in_stretch_ = true;
  return {};
}

Expected<void> CountedGpu::end_stretch() {
  if (!in_stretch_) return fail(Error::Kind::bad_input, "no stretch has begun");
  in_stretch_ = false;
  return {};
}

Expected<std::vector<counters::Values>> CountedGpu::stop() {
  if (!is_counting_) return fail(Error::Kind::bad_input, "nothing is being counted");
  is_counting_ = false;
  return std::move(values_);
}

}  // namespace gputopo::experiments
