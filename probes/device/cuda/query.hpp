// What the driver's API states about a GPU.
#pragma once

#include "device/cuda/driver.hpp"
#include "device/device.hpp"

namespace gputopo::device::cuda {

/// Fills DeviceInfo from device attributes, and the kernel driver's version from /proc. Needs no context.
Expected<DeviceInfo> query(const Driver& driver, int ordinal);

}  // namespace gputopo::device::cuda
