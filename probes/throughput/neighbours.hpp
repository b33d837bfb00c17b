// Streams beside other users of the GPU.
#pragma once

#include "device/device.hpp"
#include "throughput/result.hpp"

namespace gputopo::throughput {

/// Whether another process has the GPU every other slice: a walk that is longer than a slice gets interrupted then
/// (docs/measuring.md). A stream can't tell by itself, since its kernels do nothing but move bytes. False where a
/// recording doesn't have the walk, or the device can't run it.
bool has_neighbour(device::Device& device);

/// What a stream moved while others had the GPU in between it moved in less time: rates become lower bounds, and what
/// is made of them inconclusive.
void bound_beside_neighbour(Result& result);

}  // namespace gputopo::throughput
