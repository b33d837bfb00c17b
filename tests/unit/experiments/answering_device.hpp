// A device that answers each recorded walk with latencies that a test gives.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "device/device.hpp"

namespace gputopo::experiments {

class AnsweringDevice : public device::Device {
 public:
  /// What load number `load` of the walk takes, cycles.
  using Answer = std::function<std::uint32_t(const program::Program&, const program::Walk&, std::size_t load)>;

  explicit AnsweringDevice(Answer answer, std::uint32_t sm_count = 1) : answer_(std::move(answer)) {
    info_.gpu.sm_count = sm_count;
    info_.largest_buffer_bytes = std::uint64_t{1} << 30;
    info_.warps_per_block = 1;
  }
  device::DeviceInfo& change_info() { return info_; }
  const device::DeviceInfo& info() const override { return info_; }

  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    std::vector<program::ProgramTrace> traces;
    for (const program::Program& p : batch) {
      program::ProgramTrace& trace = traces.emplace_back();
      for (const program::Phase& phase : p.phases) {
        const auto* walk = std::get_if<program::Walk>(&phase);
        trace.phases.push_back(walk == nullptr ? program::PhaseTrace{} : answered(p, *walk));
      }
    }
    return traces;
  }

 private:
  program::PhaseTrace answered(const program::Program& p, const program::Walk& walk) const {
    program::PhaseTrace trace;
    if (walk.record == program::Record::nothing) return trace;
    std::vector<std::uint32_t> latencies;
    for (std::size_t i = 0; i < program::lap_loads(walk) * walk.laps; ++i) latencies.push_back(answer_(p, walk, i));
    if (walk.record == program::Record::latencies) {
      trace.latencies = std::move(latencies);
      return trace;
    }
    std::map<std::uint32_t, std::uint64_t> counts;
    for (const std::uint32_t cycles : latencies) ++counts[cycles];
    for (const auto& [cycles, count] : counts) {
      trace.histogram.push_back({cycles, {}});
      trace.histogram.back().count = static_cast<decltype(trace.histogram.back().count)>(count);
    }
    return trace;
  }

  Answer answer_;
  device::DeviceInfo info_;
};

}  // namespace gputopo::experiments
