// A simulated GPU with hardware counters, and with faults that a kernel might have.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "counters/counter.hpp"
#include "device/device.hpp"
#include "device/sim/model.hpp"

namespace gputopo::experiments {

/// What the GPU does instead of what it was asked for. Traces keep claiming that the program ran as asked.
struct Faults {
  bool drops_warm_up = false;  ///< phases that record nothing are not run: the assembler found them useless
  bool hoists_a_load = false;  ///< a recorded lap makes one load fewer, and takes another for it
  double stretches_hits = 1;   ///< what a calibration of hit latencies sees, times this: the threshold comes out wrong
  double loses_misses = 0;     ///< the counters see this share of the misses less
  std::uint64_t merges_slices = 1;  ///< of so many slices that timing tells apart the counters see one
};

/// The device and its counters: misses are those of the model's caches, seen by the level that served each load, not
/// by a threshold that any experiment chose.
class CountedGpu final : public device::Device, public counters::Counter {
 public:
  explicit CountedGpu(sim::Model model, Faults faults = {});

  const device::DeviceInfo& info() const override { return device_->info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override;

  Expected<program::WorkloadTrace> run_workload(const program::Workload& workload) override;

  const std::string& chip() const override { return chip_; }
  Expected<std::size_t> passes(const counters::Metrics& metrics) override;
  Expected<void> start(const counters::Metrics& metrics, std::size_t stretches) override;
  Expected<void> begin_stretch() override;
  Expected<void> end_stretch() override;
  Expected<std::vector<counters::Values>> stop() override;

  std::size_t launches() const { return launches_; }

 private:
  struct Counts {
    double loads = 0;
    std::map<std::string, double> misses;
  };
  counters::Values slice_counts(const program::Workload& workload) const;
  void count(const program::Program& program, const program::ProgramTrace& trace, Counts& counts) const;

  sim::Model model_;
  Faults faults_;
  std::unique_ptr<device::Device> device_;
  std::string chip_ = "GH100";
  counters::Metrics counting_;
  bool is_counting_ = false;
  bool in_stretch_ = false;
  std::vector<counters::Values> values_;
  std::size_t launches_ = 0;
};

/// The H200's model without noise.
sim::Model quiet_model();

}  // namespace gputopo::experiments
