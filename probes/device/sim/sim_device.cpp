#include "device/sim/sim_device.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/sim/check.hpp"
#include "device/sim/runner.hpp"
#include "device/sim/stream_runner.hpp"
#include "device/sim/work_runner.hpp"
#include "stop/stop.hpp"

namespace gputopo::sim {
namespace {

using device::DeviceInfo;
using program::Path;

DeviceInfo describe(const Model& m) {
  DeviceInfo info;
  info.gpu = m.gpu;
  info.kind = "sim";
  info.simulated = true;
  info.memory_bytes = m.memory_bytes;
  info.l2_bytes = m.api_l2_bytes;
  if (m.shared) {
    info.shared_bytes_per_sm = m.shared->carve_outs_bytes.back();
    info.shared_bytes_per_block = m.shared->block_limit_bytes;
    info.shared_reserved_per_block = m.shared->block_reserved_bytes;
  }
  info.constant_bytes_per_module = m.constant_bytes_per_module;
  info.constant_modules = m.constant_modules;
  info.texture_elements = m.texture_elements;
  info.largest_buffer_bytes = m.largest_buffer_bytes;
  info.largest_recording = m.largest_recording;
  info.warps_per_block = m.warps_per_block;
  info.has_no_allocate = m.path(Path::global_no_allocate).has_value();
  info.has_read_only = m.path(Path::read_only).has_value();
  info.may_run_beside_others = m.tenant.has_value();  // as the driver says of a client of an MPS server
  info.has_execute = m.execution.has_value();
  if (m.execution) {
    info.execute_unit_bytes = std::max(m.execution->unit_bytes, fetch_bytes(m, m.execution->path));
    info.execute_limit_bytes = m.execution->limit_bytes;
    info.code_block_bytes = m.execution->block_bytes;
    info.code_bytes = m.execution->walked_bytes / m.execution->block_bytes * m.execution->block_bytes;
    info.code_own_bytes = m.execution->between_bytes;
  }
  return info;
}

class SimDevice : public device::Device {
 public:
  explicit SimDevice(Model model)
      : model_(std::move(model)),
        info_(describe(model_)),
        hierarchy_(model_),
        timeline_(model_, hierarchy_),
        workloads_(model_) {}

  const DeviceInfo& info() const override { return info_; }

  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    for (const program::Program& p : batch)
      if (auto ok = check(p, info_); !ok) return tl::unexpected<Error>(ok.error());
    std::vector<program::ProgramTrace> traces;
    traces.reserve(batch.size());
    std::uint32_t next_sm = 0;
    timeline_.begin_batch();
    for (const program::Program& p : batch) {
      stop::look();
      // As a GPU's device does it: one after another where the SM's own caches are all that must be quiet.
      const bool is_placed =
          std::all_of(p.agents.begin(), p.agents.end(), [](const auto& a) { return a.sm.has_value(); });
      const bool is_anywhere = p.isolation == Scope::sm;
      const std::uint32_t sm = is_anywhere ? next_sm : 0;
      if (is_anywhere && !is_placed) next_sm = (next_sm + 1) % model_.gpu.sm_count;
      traces.push_back(run_program(model_, hierarchy_, timeline_, p, sm, ++runs_));
    }
    return traces;
  }

  Expected<program::StreamTrace> run_stream(const program::Stream& stream) override {
    stop::look();
    if (auto ok = program::validate(stream); !ok) return tl::unexpected<Error>(ok.error());
    return sim::run_stream(model_, stream, ++runs_);
  }

  Expected<program::WorkloadTrace> run_workload(const program::Workload& workload) override {
    stop::look();
    if (auto ok = program::validate(workload); !ok) return tl::unexpected<Error>(ok.error());
    return workloads_.run(workload, ++runs_);
  }

 private:
  Model model_;
  DeviceInfo info_;
  Hierarchy hierarchy_;
  Timeline timeline_;
  WorkRunner workloads_;
  std::uint64_t runs_ = 0;
};

}  // namespace

std::unique_ptr<device::Device> make_device(Model model) {
  return std::make_unique<SimDevice>(std::move(model));
}

}  // namespace gputopo::sim
