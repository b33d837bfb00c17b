#include "device/cuda/query.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "catalog/limits.hpp"
#include "kernels/chase_abi.hpp"

namespace gputopo::device::cuda {
namespace {

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04 ..." -> "580.159.04"; CUDA's own number is no substitute,
// since caches of results are keyed by the kernel driver.
std::string kernel_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    const bool dotted = word.find('.') != std::string::npos;
    const bool numeric =
        std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
    if (dotted && numeric) return word;
  }
  return {};
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

Expected<DeviceInfo> query(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  if (const CUresult code = driver.cuDeviceGet(&device, ordinal); code != CUDA_SUCCESS)
    return fail(Error::Kind::unavailable,
                fmt::format("there is no GPU number {}; `gputopo devices` lists those there are", ordinal));
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return driver.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS && value > 0
               ? static_cast<std::uint32_t>(value)
               : 0U;
  };
  DeviceInfo info;
  info.kind = "cuda";
  info.driver_version = kernel_driver_version();
  std::array<char, 256> text{};
  if (driver.cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, device) == CUDA_SUCCESS)
    info.gpu.name = text.data();
  if (driver.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()) - 1, device) == CUDA_SUCCESS) {
    info.gpu.pci_bus_id = text.data();
    std::transform(info.gpu.pci_bus_id.begin(), info.gpu.pci_bus_id.end(), info.gpu.pci_bus_id.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  CUuuid uuid{};
  if (driver.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) info.gpu.uuid = uuid_text(uuid);
  const std::uint32_t major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const std::uint32_t minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.gpu.compute_capability = fmt::format("{}.{}", major, minor);
  info.gpu.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.gpu.clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  info.gpu.memory_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.gpu.memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  info.gpu.limits.cores_per_sm = catalog::published_limits(info.gpu.compute_capability).cores_per_sm;
  info.gpu.limits.threads_per_warp = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  info.gpu.limits.threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.gpu.limits.threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  info.gpu.limits.blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  info.gpu.limits.shared_bytes_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  info.gpu.limits.constant_bytes = attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  std::size_t bytes = 0;
  if (driver.cuDeviceTotalMem(&bytes, device) == CUDA_SUCCESS) info.memory_bytes = bytes;
  info.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.shared_bytes_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.shared_bytes_per_block = std::max(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
                                         attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  info.may_run_beside_others = attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED) != 0;
  info.shared_reserved_per_block = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  info.shared_recorder_bytes = kernels::reserved_shared_bytes + kernels::static_shared_bytes;
  info.constant_bytes_per_module = attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  info.constant_modules = 6;  // what runs side by side on one SM with room to spare
  info.texture_elements = attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
  info.largest_buffer_bytes = info.memory_bytes - info.memory_bytes / 16;  // leaves room for the context
  info.largest_recording = kernels::latency_entries;
  info.warps_per_block = kernels::block_threads / kernels::warp_threads;
  const std::uint32_t capability = 10 * major + minor;
  info.has_no_allocate = capability >= 70;
  info.has_read_only = capability >= 35;
  info.has_execute = capability >= 70;  // older instruction encodings have another size than code_unit_bytes assumes
  info.execute_unit_bytes = std::uint64_t{kernels::code_unit_instructions} * kernels::code_instruction_bytes;
  if (info.has_execute) {
    info.code_block_bytes = kernels::code_block_bytes;
    info.code_bytes = std::uint64_t{kernels::code_blocks} * kernels::code_block_bytes;
    info.code_own_bytes = kernels::code_own_bytes;
  }
  info.execute_limit_bytes = info.execute_unit_bytes * kernels::code_units;
  return info;
}

}  // namespace gputopo::device::cuda
