// Runs streams and turns their traces into rates.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "program/stream.hpp"
#include "throughput/result.hpp"

namespace gputopo::throughput {

/// What a trace is turned into.
enum class Rate {
  bytes_per_sm_cycle,   ///< B/cycle of one SM
  bytes_per_second,     ///< B/s of the GPU
  cycles_per_access,    ///< SM cycles for each access of a warp on that SM
  additions_per_cycle,  ///< single lanes' atomic additions a cycle of the GPU
};

std::string_view unit_of(Rate rate);

/// Runs of one stream: the median, and the least and greatest.
struct Sample {
  double median = 0;
  Interval range;
  std::uint64_t runs = 0;
};

/// Every figure is the median of so many runs.
inline constexpr int runs_of_a_figure = 5;

class Meter {
 public:
  Meter(device::Device& device, const std::atomic<bool>* stop) : device_(device), stop_(stop) {}

  const device::DeviceInfo& info() const { return device_.info(); }

  /// One run of a stream. Errors: Device::run_stream's, `interrupted` once the stop flag is set.
  Expected<program::StreamTrace> trace(const program::Stream& stream);
  /// Its rate. Error also: `unavailable` where the trace lacks the time that the rate is taken over.
  Expected<double> once(const program::Stream& stream, Rate rate);
  /// One run of a workload. Errors: Device::run_workload's, and `interrupted` as above.
  Expected<program::WorkloadTrace> run(const program::Workload& workload);
  /// The same of several runs.
  Expected<Sample> measure(const program::Stream& stream, Rate rate, int runs = runs_of_a_figure);
  /// Of what `of` makes of a workload's trace.
  Expected<Sample> measure(const program::Workload& workload,
                           const std::function<double(const program::WorkloadTrace&)>& of, int runs = runs_of_a_figure);

 private:
  device::Device& device_;
  const std::atomic<bool>* stop_;
};

/// As an Estimate: the median, with the range of the runs.
Estimate estimate_of(const Sample& sample, std::string_view unit, std::string_view method);

/// "16 B, 8 in flight, 1024 threads x 2 an SM, 64 KiB a block".
std::string configuration_of(const program::Stream& stream, std::uint32_t sm_count);

/// Laps that move at least `bytes` in all; at least `least`.
std::uint32_t laps_for(const program::Stream& stream, double bytes, std::uint32_t least = 2);

/// Whether an error leaves one quantity open rather than the whole run: what this device can't do.
bool leaves_open(const Error& error);

}  // namespace gputopo::throughput
