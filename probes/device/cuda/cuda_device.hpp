// A real GPU: chase programs through one interpreting kernel, by the driver API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/gpu_lock.hpp"
#include "device/device.hpp"
#include "error/error.hpp"

namespace gputopo::device {

/// The GPU with CUDA's number `ordinal`, with a context of its own (the primary context).
/// `unavailable`: no driver, no GPU, driver too old, GPU in exclusive or prohibited mode, no memory.
/// `lock` says how it takes turns with other processes of gputopo, from its first run until it is closed. `library` is
/// the driver's name for dlopen.
Expected<std::unique_ptr<Device>> open_cuda(int ordinal, const cuda::GpuLockOptions& lock = {},
                                            const std::string& library = "libcuda.so.1");

/// What the driver says about every GPU, without creating a context. Empty where there is a driver but no GPU.
Expected<std::vector<DeviceInfo>> list_cuda(const std::string& library = "libcuda.so.1");

}  // namespace gputopo::device
