// A device that answers from a recording.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "device/replay/recording.hpp"

namespace gputopo::replay {

/// Answers the n-th request for a program with the n-th recorded run of a program of the same hash, so a discovery
/// that asks for the same programs gets the same traces, bit for bit, whatever the order of the batches.
/// info() is the recorded device's, with kind "replay".
/// Errors of run(): `unavailable` for a program that isn't in the recording (often enough), `bad_input` for a trace of
/// another shape than the program's.
class ReplayDevice : public device::Device {
 public:
  explicit ReplayDevice(Recording recording);

  const device::DeviceInfo& info() const override { return info_; }
  bool is_shared() const override { return recording_.is_shared; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override;
  Expected<program::StreamTrace> run_stream(const program::Stream& stream) override;
  Expected<program::WorkloadTrace> run_workload(const program::Workload& workload) override;

 private:
  struct Answers {
    std::vector<std::size_t> runs;  // indices into recording_.runs, in order
    std::size_t next = 0;
  };
  Expected<program::ProgramTrace> answer(const program::Program& program);

  Recording recording_;
  device::DeviceInfo info_;
  std::unordered_map<std::uint64_t, Answers> answers_;
  std::unordered_map<std::uint64_t, Answers> stream_answers_;    // into recording_.streams
  std::unordered_map<std::uint64_t, Answers> workload_answers_;  // into recording_.workloads
};

/// A ReplayDevice of the file; errors as load_recording's.
Expected<std::unique_ptr<device::Device>> open_replay(const std::string& path);

}  // namespace gputopo::replay
