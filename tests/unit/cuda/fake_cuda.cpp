// A stand-in for libcuda: one GPU whose memory is the host's. FAKE_<function> in the environment is the code it
// returns. Nothing runs on it unless FAKE_PLACES_AT says at which launch of a chase blocks find their place; then every
// phase is done at once, and an address of a task that lies in no allocation fails the launch. FAKE_MEBIBYTES is how
// much memory can be had in all.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>

#include <sys/mman.h>

#include "device/cuda/driver_api.hpp"
#include "kernels/chase_abi.hpp"

using namespace gputopo::device::cuda;  // NOLINT(google-build-using-namespace)

namespace {

using namespace gputopo::kernels;

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
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    default:
      return 0;
  }
}

char memory[1 << 16];
char bank[65536];
const char chase[] = "chase";

struct Block {
  void* data;
  std::size_t bytes;
};
std::map<CUdeviceptr, Block> allocations;
int launches = 0;

// Memory that crosses a multiple of 4 GiB, as it may on any GPU.
void* across_4_gib(std::size_t bytes) {
  for (std::uintptr_t border = 0x10'0000'0000; border < 0x100'0000'0000; border += std::uintptr_t{1} << 32) {
    void* const wanted = reinterpret_cast<void*>(border - 4096);
    void* const got = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) return got;
    if (got != MAP_FAILED) munmap(got, bytes);
  }
  return nullptr;
}

bool lies_in_memory(CUdeviceptr address, std::size_t bytes) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return false;
  const auto& [start, block] = *std::prev(after);
  return address + bytes <= start + block.bytes;
}

bool addresses_are_valid(const Task& task) {
  const bool in_global_memory = task.kind == task_walk && task.path <= 3;
  const std::size_t reach = task.first_byte + std::size_t{task.positions - 1} * task.stride_words * 4 + 4;
  // The 4-byte words of a chase hold the low halves of addresses: the high half must be one.
  const bool in_halves = in_global_memory && (task.record == 1 || task.record == 4) && (task.flags & task_wide) == 0;
  const std::uint64_t start = task.buffer + task.first_byte;
  if (in_halves && start >> 32 != (task.buffer + reach - 1) >> 32) return false;
  return (!in_global_memory || lies_in_memory(task.buffer, reach)) &&
         (task.result == 0 || lies_in_memory(task.result, sizeof(Result)));
}

// Every phase of every queue, as if it had run.
CUresult run_all(const LaunchArguments& arguments) {
  for (std::uint32_t sm = 0; sm < arguments.queue_count; ++sm)
    for (std::uint32_t i = 0; i < arguments.queues[sm].count; ++i) {
      const Task& task = arguments.tasks[arguments.queues[sm].first + i];
      if (!addresses_are_valid(task)) return CUDA_ERROR_ILLEGAL_ADDRESS;
      if (task.result == 0) continue;
      auto* result = reinterpret_cast<Result*>(task.result);
      result->done = 1;
      result->sm = sm;
      result->begin_ns = 1000;
      result->end_ns = 2000;
      for (std::uint32_t lap = 0; lap < lap_entries; ++lap) result->data[lap] = 100 + lap;
    }
  arguments.state->gap_count = static_cast<std::uint32_t>(number_from("FAKE_GAPS", 0));
  Gap* const gaps = reinterpret_cast<Gap*>(arguments.state) - gap_entries;
  for (std::uint32_t i = 0; i < arguments.state->gap_count && i < gap_entries; ++i) gaps[i] = {1100, 1900, 5, i % 4, 0};
  return CUDA_SUCCESS;
}

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
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  const bool is_chase = std::strncmp(name, chase, std::strlen(chase)) == 0;
  *function = reinterpret_cast<CUfunction>(is_chase ? const_cast<char*>(chase) : memory);
  return scripted("cuModuleGetFunction");
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule, const char*) {
  *address = reinterpret_cast<CUdeviceptr>(bank);
  if (bytes != nullptr) *bytes = 65536;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit, std::size_t) {
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(std::size_t* value, CUlimit) {
  *value = 64;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (const CUresult code = scripted("cuMemAlloc"); code != CUDA_SUCCESS) return code;
  std::size_t taken = bytes;
  for (const auto& [at, allocation] : allocations) taken += allocation.bytes;
  if (taken >> 20U >= static_cast<std::size_t>(number_from("FAKE_MEBIBYTES", 1 << 20))) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const data = number_from("FAKE_CROSSING", 0) != 0
                         ? across_4_gib(bytes)
                         : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == nullptr || data == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(data);
  allocations[*address] = {data, bytes};
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  const auto found = allocations.find(address);
  if (found == allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  munmap(found->second.data, found->second.bytes);
  allocations.erase(found);
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
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t count, CUstream) {
  if (!lies_in_memory(address, 4 * count) || value != 0) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memset(reinterpret_cast<void*>(address), 0, 4 * count);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD2D32Async(CUdeviceptr address, std::size_t pitch, unsigned value, std::size_t width,
                            std::size_t height, CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  for (std::size_t row = 0; row < height && result == CUDA_SUCCESS; ++row)
    result = cuMemsetD32Async(address + row * pitch, value, width, stream);
  return result;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr address, const void* from, std::size_t bytes, CUstream) {
  if (address != reinterpret_cast<CUdeviceptr>(bank) && !lies_in_memory(address, bytes))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memcpy(reinterpret_cast<void*>(address), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr address, std::size_t bytes, CUstream) {
  if (!lies_in_memory(address, bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream) {
  if (copy->srcMemoryType != CU_MEMORYTYPE_DEVICE || copy->dstMemoryType != CU_MEMORYTYPE_HOST || copy->Height == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!lies_in_memory(copy->srcDevice, (copy->Height - 1) * copy->srcPitch + copy->WidthInBytes))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (std::size_t row = 0; row < copy->Height; ++row)
    std::memcpy(static_cast<std::byte*>(copy->dstHost) + row * copy->dstPitch,
                reinterpret_cast<const std::byte*>(copy->srcDevice) + row * copy->srcPitch, copy->WidthInBytes);
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
CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        CUstream, void** parameters, void**) {
  if (function != reinterpret_cast<CUfunction>(const_cast<char*>(chase))) return CUDA_SUCCESS;
  const auto& arguments = *static_cast<const LaunchArguments*>(*parameters);
  if (arguments.queue_count == 0) {
    launches = 0;  // loaded anew
    return CUDA_SUCCESS;
  }
  const int places_at = number_from("FAKE_PLACES_AT", 0);
  return ++launches >= places_at && places_at != 0 ? run_all(arguments) : CUDA_SUCCESS;
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
