#include "device/replay/replay_device.hpp"

#include <utility>

#include <fmt/format.h>

#include "device/replay/trace_check.hpp"

namespace gputopo::replay {

ReplayDevice::ReplayDevice(Recording recording) : recording_(std::move(recording)), info_(recording_.info) {
  info_.kind = "replay";
  for (std::size_t i = 0; i < recording_.runs.size(); ++i) answers_[recording_.runs[i].hash].runs.push_back(i);
  for (std::size_t i = 0; i < recording_.streams.size(); ++i)
    stream_answers_[recording_.streams[i].hash].runs.push_back(i);
  for (std::size_t i = 0; i < recording_.workloads.size(); ++i)
    workload_answers_[recording_.workloads[i].hash].runs.push_back(i);
}

namespace {

tl::unexpected<Error> not_held(std::string_view what, std::string_view label) {
  return fail(Error::Kind::unavailable,
              fmt::format("the recording doesn't hold the {} '{}': it was recorded by another version or with "
                          "other options; record again with --record",
                          what, label));
}

}  // namespace

Expected<program::ProgramTrace> ReplayDevice::answer(const program::Program& program) {
  const auto found = answers_.find(program::hash(program));
  if (found == answers_.end() || found->second.next == found->second.runs.size())
    return not_held("program", program.label);
  const program::ProgramTrace& trace = recording_.runs[found->second.runs[found->second.next++]].trace;
  if (auto ok = check_against(trace, program); !ok)
    return fail(Error::Kind::bad_input, fmt::format("the recorded run of '{}' {}; record again with --record",
                                                    program.label, ok.error().message));
  return trace;
}

Expected<std::vector<program::ProgramTrace>> ReplayDevice::run(const program::Batch& batch) {
  std::vector<program::ProgramTrace> traces;
  traces.reserve(batch.size());
  for (const program::Program& program : batch) {
    if (auto ok = program::validate(program); !ok) return tl::unexpected<Error>(ok.error());
    auto trace = answer(program);
    if (!trace) return tl::unexpected<Error>(trace.error());
    traces.push_back(std::move(*trace));
  }
  return traces;
}

Expected<program::StreamTrace> ReplayDevice::run_stream(const program::Stream& stream) {
  if (auto ok = program::validate(stream); !ok) return tl::unexpected<Error>(ok.error());
  const auto found = stream_answers_.find(program::hash(stream));
  if (found == stream_answers_.end() || found->second.next == found->second.runs.size())
    return not_held("stream", stream.label);
  const StreamRun& run = recording_.streams[found->second.runs[found->second.next++]];
  if (!run.refusal.empty()) return fail(Error::Kind::unavailable, run.refusal);
  if (run.trace.bytes != program::counted_bytes(stream) || run.trace.accesses != program::counted_accesses(stream))
    return fail(Error::Kind::bad_input,
                fmt::format("the recorded run of stream '{}' moved other bytes than it asks for; record again with "
                            "--record",
                            stream.label));
  return run.trace;
}

Expected<program::WorkloadTrace> ReplayDevice::run_workload(const program::Workload& workload) {
  if (auto ok = program::validate(workload); !ok) return tl::unexpected<Error>(ok.error());
  const auto found = workload_answers_.find(program::hash(workload));
  if (found == workload_answers_.end() || found->second.next == found->second.runs.size())
    return not_held("workload", workload.label);
  const WorkloadRun& run = recording_.workloads[found->second.runs[found->second.next++]];
  if (!run.refusal.empty()) return fail(Error::Kind::unavailable, run.refusal);
  if (run.trace.output.size() != workload.output_words)
    return fail(Error::Kind::bad_input,
                fmt::format("the recorded run of workload '{}' gave other words than it asks for; record again with "
                            "--record",
                            workload.label));
  return run.trace;
}

Expected<std::unique_ptr<device::Device>> open_replay(const std::string& path) {
  auto recording = load_recording(path);
  if (!recording) return tl::unexpected<Error>(recording.error());
  return std::make_unique<ReplayDevice>(std::move(*recording));
}

}  // namespace gputopo::replay
