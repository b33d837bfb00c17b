// A stand-in for libcuda: one GPU on which nothing runs. FAKE_<function> in the environment is the code it returns.
#include <cstdlib>
#include <cstring>
#include <string>

#include "device/cuda/driver_api.hpp"

using namespace gputopo::device::cuda;  // NOLINT(google-build-using-namespace)

namespace {

CUresult scripted(const char* function) {
  const char* code = std::getenv((std::string("FAKE_") + function).c_str());
  return code != nullptr ? static_cast<CUresult>(std::atoi(code)) : CUDA_SUCCESS;
}

int number_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

int attribute_value(CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
      return number_from("FAKE_COMPUTE_MODE", CU_COMPUTEMODE_DEFAULT);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 4;
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH:
      return 1 << 20;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 65536;
    default:
      return 0;
  }
}

char memory[1 << 16];

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  return scripted("cuInit");
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = number_from("FAKE_COUNT", 1);
  return scripted("cuDeviceGetCount");
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal < number_from("FAKE_COUNT", 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  std::memset(uuid->bytes, 0x11, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice) {
  std::strncpy(id, "0000:3B:00.0", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = attribute_value(which);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{1} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = nullptr;
  return scripted("cuDevicePrimaryCtxRetain");
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) {
  return scripted("cuCtxSetCurrent");
}
// Tells PTX from machine code by how a fatbin begins.
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(memory);
  const bool is_fatbin = std::memcmp(image, "\x50\xed\x55\xba", 4) == 0;
  return scripted(is_fatbin ? "machine_code" : "ptx");
}
CUresult cuModuleUnload(CUmodule) {
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  *function = reinterpret_cast<CUfunction>(memory);
  return scripted("cuModuleGetFunction");
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule, const char*) {
  *address = 4096;
  if (bytes != nullptr) *bytes = 65536;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t) {
  *address = 1 << 20;
  return scripted("cuMemAlloc");
}
CUresult cuMemFree_v2(CUdeviceptr) {
  return CUDA_SUCCESS;
}
CUresult cuMemAllocHost_v2(void** address, std::size_t bytes) {
  *address = std::calloc(1, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD32Async(CUdeviceptr, unsigned, std::size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void*, std::size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr, std::size_t bytes, CUstream) {
  std::memset(to, 0, bytes);  // no block ever reports
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  return scripted("cuStreamSynchronize");
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void**, void**) {
  return CUDA_SUCCESS;
}
CUresult cuTexObjectCreate(CUtexObject* texture, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
                           const CUDA_RESOURCE_VIEW_DESC*) {
  *texture = 1;
  return CUDA_SUCCESS;
}
CUresult cuTexObjectDestroy(CUtexObject) {
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_SCRIPTED";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "scripted";
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = *total_bytes = std::size_t{1} << 30;
  return CUDA_SUCCESS;
}

}  // extern "C"
