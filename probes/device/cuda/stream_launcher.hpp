// Runs stream programs: buffers, one launch (of one-shot grids several in a row), the blocks' times.
#pragma once

#include <cstdint>

#include "device/cuda/driver.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/module.hpp"
#include "device/device.hpp"
#include "kernels/stream_abi.hpp"
#include "program/stream.hpp"

namespace gputopo::device::cuda {

/// Owns a module, a stream and buffers of the current context. `driver` and `info` must outlive it.
class StreamLauncher {
 public:
  StreamLauncher(const Driver& driver, const DeviceInfo& info) : driver_(driver), info_(info), module_(driver) {}
  StreamLauncher(const StreamLauncher&) = delete;
  StreamLauncher& operator=(const StreamLauncher&) = delete;
  ~StreamLauncher();

  /// `stream` must be valid. Errors as Device::run_stream's.
  Expected<program::StreamTrace> run(const program::Stream& stream);

 private:
  Expected<void> check(CUresult code, const char* what) const;
  Expected<void> start();
  Expected<void> grow(Allocation& memory, std::uint64_t bytes);
  Expected<void> texture_over(std::uint64_t first_byte, std::uint64_t bytes, std::uint32_t access_bytes);
  Expected<kernels::StreamArguments> prepare(const program::Stream& stream);
  Expected<void> launch(CUfunction function, const program::Stream& stream, kernels::StreamArguments arguments);
  Expected<void> transfer(const program::Stream& stream);
  template <typename Once>
  Expected<void> between_stamps(const program::Stream& stream, const Once& once);
  Expected<void> stamp(std::uint64_t place);
  Expected<program::StreamTrace> collect(const program::Stream& stream);

  const Driver& driver_;
  const DeviceInfo& info_;
  Module module_;
  CUstream stream_ = nullptr;
  Allocation from_;
  Allocation to_;
  Allocation times_;  ///< 256 bytes of sink and stamps, then one StreamBlock a block
  HostAllocation times_host_;
  HostAllocation host_;  ///< the host's end of transfers
  CUtexObject texture_ = 0;
};

}  // namespace gputopo::device::cuda
