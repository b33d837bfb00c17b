// Workloads on a modelled GPU.
#pragma once

#include <memory>

#include "device/sim/model.hpp"
#include "device/sim/traffic_cache.hpp"
#include "error/error.hpp"
#include "program/workload.hpp"

namespace gputopo::sim {

/// `model` must outlive it.
class WorkRunner {
 public:
  explicit WorkRunner(const Model& model) : model_(model) {}

  /// `run` tells apart the noise of repeated runs. `unavailable` where the model says nothing of what a kernel does.
  Expected<program::WorkloadTrace> run(const program::Workload& workload, std::uint64_t run);

 private:
  Expected<program::WorkloadTrace> product(const program::Workload& workload);
  Expected<program::WorkloadTrace> sweep(const program::Workload& workload);
  Expected<double> cycles_of(const program::Workload& workload, program::WorkloadTrace& trace, std::uint64_t run);
  Expected<double> histogram_cycles(const program::Workload& workload, std::uint64_t run);
  Expected<double> counting_cycles(const program::Workload& workload, std::uint64_t run);
  Expected<double> addition_rate(program::Path path, std::uint64_t lane_stride, std::uint64_t warp_stride,
                                 std::uint32_t threads, std::uint64_t run);
  bool count(const program::Workload& workload, program::WorkloadTrace& trace);

  const Model& model_;
  std::unique_ptr<TrafficCache> l2_;  ///< from the first product on
  bool values_alike_ = false;         ///< that a histogram is of
  std::uint64_t values_counted_ = 0;
  bool was_swept_ = false;  ///< nothing of what chases walk is in the L2
};

}  // namespace gputopo::sim
