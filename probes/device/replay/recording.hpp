// A recording: every program a device ran, with its answer, so that a discovery can be repeated without the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "error/error.hpp"
#include "program/program.hpp"
#include "program/stream.hpp"
#include "program/workload.hpp"

namespace gputopo::replay {

inline constexpr std::string_view recording_schema = "gputopo-recording/1";
inline constexpr std::size_t recording_limit_bytes = std::size_t{64} << 20;

/// One run of one program.
struct Run {
  std::uint64_t hash = 0;  ///< program::hash of the program
  std::string label;       ///< the program's, for readers of the file
  program::ProgramTrace trace;
  friend bool operator==(const Run&, const Run&) = default;
};

/// One run of one stream.
struct StreamRun {
  std::uint64_t hash = 0;  ///< program::hash of the stream
  std::string label;
  program::StreamTrace trace;
  std::string refusal;  ///< why the device couldn't run it (`unavailable`); empty where it did
  friend bool operator==(const StreamRun&, const StreamRun&) = default;
};

/// One run of one workload.
struct WorkloadRun {
  std::uint64_t hash = 0;  ///< program::hash of the workload
  std::string label;
  program::WorkloadTrace trace;
  std::string refusal;  ///< as of a stream
  friend bool operator==(const WorkloadRun&, const WorkloadRun&) = default;
};

struct Recording {
  device::DeviceInfo info;  ///< of the device that was recorded, with its own kind
  bool is_shared = false;   ///< whether it was (Device::is_shared)
  std::vector<Run> runs;    ///< in the order they were asked for
  std::vector<StreamRun> streams = {};
  std::vector<WorkloadRun> workloads = {};
};

/// The file's text: JSON, one line a run, with a checksum at the end (docs/formats.md).
std::string to_text(const Recording& recording);

/// The reverse of to_text, bit for bit. `bad_input` where the text is cut short, altered, of another schema or larger
/// than any discovery. Takes time and memory in proportion to the text, at most 64 MiB beyond it.
Expected<Recording> parse_recording(std::string_view text);

/// Reads a recording; errors name the file. `io` or `bad_input`.
Expected<Recording> load_recording(const std::string& path);

}  // namespace gputopo::replay
