// What runs programs, chases and streams: a GPU, a simulated GPU or a recording. Experiments see nothing else.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "error/error.hpp"
#include "program/program.hpp"
#include "program/stream.hpp"
#include "program/workload.hpp"
#include "topology/topology.hpp"

namespace gputopo::device {

/// What the driver's API (or a model) says without measuring. Zero means unknown.
struct DeviceInfo {
  Gpu gpu;
  std::string kind;  ///< "cuda", "sim" or "replay"
  bool simulated = false;
  std::string recorded;  ///< of a recording: when it was made, RFC 3339, UTC; empty where unknown
  std::string driver_version;
  std::string kernels;                       ///< of an opened real GPU: "machine_code" or "ptx", as Provenance has it
  std::uint64_t memory_bytes = 0;            ///< device memory in all
  std::uint64_t l2_bytes = 0;                ///< as the API states it
  std::uint64_t shared_bytes_per_sm = 0;     ///< the largest carve-out
  std::uint64_t shared_bytes_per_block = 0;  ///< the largest a block may ask for
  std::uint64_t shared_reserved_per_block = 0;  ///< kept by the system in each block
  std::uint64_t shared_recorder_bytes = 0;      ///< shared memory the device itself needs in each block
  std::uint64_t constant_bytes_per_module = 65536;
  std::uint32_t constant_modules = 1;      ///< how many constant banks can be resident at once
  std::uint64_t texture_elements = 0;      ///< most 4-byte elements of a linear texture
  std::uint64_t largest_buffer_bytes = 0;  ///< largest global buffer a program may ask for
  std::uint32_t largest_recording = 0;     ///< most loads of a walk that records latencies; of laps half as many
  std::uint32_t warps_per_block = 0;       ///< agents' warps run from 0 to this, exclusive
  bool may_run_beside_others = false;      ///< as under MPS other processes' programs may run at the same time
  bool has_no_allocate = false;            ///< Path::global_no_allocate works
  bool has_read_only = false;              ///< Path::read_only exists (compute capability 3.5 and newer)
  bool has_execute = false;                ///< Execute phases work
  std::uint64_t execute_unit_bytes = 0;    ///< what code is timed in, and code_bytes rounded up to
  std::uint64_t execute_limit_bytes = 0;   ///< most bytes of straight-line code
  std::uint64_t code_bytes = 0;            ///< of a buffer of code; 0: Path::instruction doesn't exist
  std::uint64_t code_block_bytes = 0;      ///< walks over code have strides and begins of whole blocks
  std::uint64_t code_own_bytes = 0;        ///< at most so much code of its own runs between two jumps, in whole lines
};

/// Whether an SM copies in bulk by itself (cp.async.bulk): compute capability 9.0 and newer.
inline bool has_copy_engine(const Gpu& gpu) {
  int major = 0;
  std::from_chars(gpu.compute_capability.data(), gpu.compute_capability.data() + gpu.compute_capability.size(), major);
  return major >= 9;
}

/// Runs programs. Not thread-safe; a Device belongs to one thread.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  /// Runs every program of the batch and gives their traces in the batch's order.
  ///
  /// Programs run in waves: at once only where Program::isolation allows. Phases of a program run strictly in order,
  /// across agents. Every program starts with caches in whatever state earlier ones left them.
  /// Errors: `bad_input` for an invalid program, `unavailable` where placement on an SM couldn't be had,
  /// `device` where the GPU failed, `interrupted` after request_stop().
  virtual Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) = 0;

  /// Whether another process was seen to hold SMs while programs ran (DeviceInfo::may_run_beside_others).
  virtual bool is_shared() const { return false; }

  /// Runs a stream program, which has the GPU for itself. Caches are as earlier programs left them.
  /// Errors: `bad_input` for an invalid stream (or one that a recording lacks), `unavailable` where this device can't
  /// run it (a configuration that its kernels don't have, a model without throughput), `device` where the GPU failed.
  virtual Expected<program::StreamTrace> run_stream(const program::Stream& stream) {
    return fail(Error::Kind::unavailable, "stream '" + stream.label + "': this device runs no stream programs");
  }

  /// Runs a workload, which has the GPU for itself. Errors: as run_stream's; `unavailable` also where there is no such
  /// kernel, or this GPU can't run it.
  virtual Expected<program::WorkloadTrace> run_workload(const program::Workload& workload) {
    return fail(Error::Kind::unavailable, "workload '" + workload.label + "': this device runs no workloads");
  }
};

}  // namespace gputopo::device
