// Whether a program can run on a simulated GPU. Internal to this folder.
#pragma once

#include "device/device.hpp"

namespace gputopo::sim {

/// program::validate, and every limit of DeviceInfo. `unavailable` for a path that the GPU lacks, else `bad_input`.
Expected<void> check(const program::Program& program, const device::DeviceInfo& info);

}  // namespace gputopo::sim
