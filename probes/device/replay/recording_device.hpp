// Wraps any device and keeps what it answered.
#pragma once

#include "device/device.hpp"
#include "device/replay/recording.hpp"

namespace gputopo::replay {

/// Passes every batch on to `inner` and keeps the traces of those that succeeded, and which streams it can't run.
/// `inner` must outlive it.
class RecordingDevice : public device::Device {
 public:
  explicit RecordingDevice(device::Device& inner);

  const device::DeviceInfo& info() const override { return inner_.info(); }
  bool is_shared() const override { return inner_.is_shared(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override;
  Expected<program::StreamTrace> run_stream(const program::Stream& stream) override;
  Expected<program::WorkloadTrace> run_workload(const program::Workload& workload) override;

  const Recording& recording() const { return recording_; }  ///< what was recorded so far

 private:
  device::Device& inner_;
  Recording recording_;
};

}  // namespace gputopo::replay
