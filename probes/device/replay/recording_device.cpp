#include "device/replay/recording_device.hpp"

namespace gputopo::replay {

RecordingDevice::RecordingDevice(device::Device& inner) : inner_(inner), recording_{.info = inner.info(), .runs = {}} {
  if (recording_.info.recorded.empty()) recording_.info.recorded = rfc3339_now();
}

Expected<std::vector<program::ProgramTrace>> RecordingDevice::run(const program::Batch& batch) {
  auto traces = inner_.run(batch);
  recording_.is_shared = inner_.is_shared();
  if (!traces) return traces;
  for (std::size_t i = 0; i < traces->size() && i < batch.size(); ++i)
    recording_.runs.push_back({program::hash(batch[i]), batch[i].label, (*traces)[i]});
  return traces;
}

Expected<program::StreamTrace> RecordingDevice::run_stream(const program::Stream& stream) {
  auto trace = inner_.run_stream(stream);
  if (trace)
    recording_.streams.push_back({program::hash(stream), stream.label, *trace, {}});
  else if (trace.error().kind == Error::Kind::unavailable)
    recording_.streams.push_back({program::hash(stream), stream.label, {}, trace.error().message});
  return trace;
}

Expected<program::WorkloadTrace> RecordingDevice::run_workload(const program::Workload& workload) {
  auto trace = inner_.run_workload(workload);
  if (trace)
    recording_.workloads.push_back({program::hash(workload), workload.label, *trace, {}});
  else if (trace.error().kind == Error::Kind::unavailable)
    recording_.workloads.push_back({program::hash(workload), workload.label, {}, trace.error().message});
  return trace;
}

}  // namespace gputopo::replay
