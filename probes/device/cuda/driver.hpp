// The CUDA driver by dlopen: no link-time dependency, and an error a user can act on where it is missing.
#pragma once

#include <cuda.h>
#include <memory>
#include <string>

#include "topology/error.hpp"

// Every driver function the device uses. Names go through cuda.h's macros, so each binds to the version compiled
// against.
// clang-format off
#define GPUTOPO_DRIVER_FUNCTIONS(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid) \
  X(cuDeviceGetPCIBusId) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) \
  X(cuModuleGetGlobal) X(cuFuncSetAttribute) X(cuFuncGetAttribute) X(cuMemAlloc) X(cuMemFree) X(cuMemAllocHost) \
  X(cuMemFreeHost) X(cuMemsetD32Async) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuStreamCreate) \
  X(cuStreamDestroy) X(cuStreamSynchronize) X(cuLaunchKernel) X(cuTexObjectCreate) X(cuTexObjectDestroy) \
  X(cuGetErrorName) X(cuGetErrorString) X(cuMemGetInfo)
// clang-format on

namespace gputopo::device::cuda {

/// Pointers into libcuda. Copyable; the library stays loaded as long as one copy lives.
class Driver {
 public:
  /// Loads `library` and initialises it. `unavailable` where there is no driver, it lacks a function (too old), or
  /// cuInit refuses; the message says which and what to do.
  static Expected<Driver> load(const std::string& library = "libcuda.so.1");

#define GPUTOPO_DECLARE(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  GPUTOPO_DRIVER_FUNCTIONS(GPUTOPO_DECLARE)
#undef GPUTOPO_DECLARE

  /// One line about a failed call: what was tried, CUDA's name and text for the code, and the remedy where known.
  Error error(CUresult code, const std::string& what) const;

 private:
  std::shared_ptr<void> library_;
};

/// True for errors after which the context can't be used any more.
bool is_sticky(CUresult code);

}  // namespace gputopo::device::cuda
