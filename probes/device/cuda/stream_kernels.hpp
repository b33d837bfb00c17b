// Which kernel runs a stream program, and with which arguments. Pure planning: no GPU.
#pragma once

#include <cstdint>
#include <string>

#include "device/device.hpp"
#include "error/error.hpp"
#include "kernels/stream_abi.hpp"
#include "program/stream.hpp"

namespace gputopo::device::cuda {

/// The kernel's name, as in kernels/stream.cu: "stream_read_cached_16_run_8". `unavailable` where there is no kernel of
/// that width, arrangement and unrolling, or none that takes so many threads.
Expected<std::string> stream_kernel(const program::Stream& stream);

/// Everything but addresses.
kernels::StreamArguments stream_arguments(const program::Stream& stream);

/// What its blocks have in common at the start.
kernels::StreamCommon stream_common(const program::Stream& stream);

/// Shared memory that a block asks for at its launch, bytes.
std::uint64_t dynamic_shared_bytes(const program::Stream& stream);

/// Whether this GPU has room for what the stream asks: threads, memory, shared memory, texture. `unavailable` else.
Expected<void> check_stream(const program::Stream& stream, const DeviceInfo& info);

/// When blocks ran: SM cycles from an SM's first start to its last end, mean over SMs, and what the GPU's timer says.
struct BlockTimes {
  std::uint64_t cycles = 0;
  std::uint64_t ns = 0;
  std::uint32_t sms = 0;
};
BlockTimes block_times(const kernels::StreamBlock* blocks, std::uint32_t count);

/// What the blocks saw, as a trace. `blocks` has one entry a block.
program::StreamTrace stream_trace(const program::Stream& stream, const kernels::StreamBlock* blocks);

}  // namespace gputopo::device::cuda
