// Every driver function the device uses: X(name, exported symbol, type). The symbol is the version that cuda.h of CUDA
// 11.4 to 13 binds the name to; all of them are in every driver since 470.
#pragma once

#include "device/cuda/driver_api.hpp"

// clang-format off
#define GPUTOPO_DRIVER_FUNCTIONS(X) \
  X(cuInit, "cuInit", CUresult(unsigned)) \
  X(cuDriverGetVersion, "cuDriverGetVersion", CUresult(int*)) \
  X(cuDeviceGetCount, "cuDeviceGetCount", CUresult(int*)) \
  X(cuDeviceGet, "cuDeviceGet", CUresult(CUdevice*, int)) \
  X(cuDeviceGetName, "cuDeviceGetName", CUresult(char*, int, CUdevice)) \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2", CUresult(CUuuid*, CUdevice)) \
  X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", CUresult(char*, int, CUdevice)) \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", CUresult(int*, CUdevice_attribute, CUdevice)) \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", CUresult(std::size_t*, CUdevice)) \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUresult(CUcontext*, CUdevice)) \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", CUresult(CUdevice)) \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", CUresult(CUcontext)) \
  X(cuCtxSetLimit, "cuCtxSetLimit", CUresult(CUlimit, std::size_t)) \
  X(cuCtxGetLimit, "cuCtxGetLimit", CUresult(std::size_t*, CUlimit)) \
  X(cuModuleLoadData, "cuModuleLoadData", CUresult(CUmodule*, const void*)) \
  X(cuModuleUnload, "cuModuleUnload", CUresult(CUmodule)) \
  X(cuModuleGetFunction, "cuModuleGetFunction", CUresult(CUfunction*, CUmodule, const char*)) \
  X(cuModuleGetGlobal, "cuModuleGetGlobal_v2", CUresult(CUdeviceptr*, std::size_t*, CUmodule, const char*)) \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", CUresult(CUfunction, CUfunction_attribute, int)) \
  X(cuFuncGetAttribute, "cuFuncGetAttribute", CUresult(int*, CUfunction_attribute, CUfunction)) \
  X(cuMemAlloc, "cuMemAlloc_v2", CUresult(CUdeviceptr*, std::size_t)) \
  X(cuMemFree, "cuMemFree_v2", CUresult(CUdeviceptr)) \
  X(cuMemAllocHost, "cuMemAllocHost_v2", CUresult(void**, std::size_t)) \
  X(cuMemFreeHost, "cuMemFreeHost", CUresult(void*)) \
  X(cuMemsetD32Async, "cuMemsetD32Async", CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)) \
  X(cuMemsetD2D32Async, "cuMemsetD2D32Async", CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, \
                                                       CUstream)) \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", CUresult(CUdeviceptr, const void*, std::size_t, CUstream)) \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", CUresult(void*, CUdeviceptr, std::size_t, CUstream)) \
  X(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", CUresult(const CUDA_MEMCPY2D*, CUstream)) \
  X(cuStreamCreate, "cuStreamCreate", CUresult(CUstream*, unsigned)) \
  X(cuStreamDestroy, "cuStreamDestroy_v2", CUresult(CUstream)) \
  X(cuStreamSynchronize, "cuStreamSynchronize", CUresult(CUstream)) \
  X(cuLaunchKernel, "cuLaunchKernel", CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                               unsigned, CUstream, void**, void**)) \
  X(cuTexObjectCreate, "cuTexObjectCreate", CUresult(CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*, \
                                                     const CUDA_RESOURCE_VIEW_DESC*)) \
  X(cuTexObjectDestroy, "cuTexObjectDestroy", CUresult(CUtexObject)) \
  X(cuGetErrorName, "cuGetErrorName", CUresult(CUresult, const char**)) \
  X(cuGetErrorString, "cuGetErrorString", CUresult(CUresult, const char**)) \
  X(cuMemGetInfo, "cuMemGetInfo_v2", CUresult(std::size_t*, std::size_t*))
// clang-format on
