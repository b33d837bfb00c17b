#include "device/cuda/memory.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gputopo::device::cuda {
namespace {

constexpr std::size_t granule = std::size_t{2} << 20;  // one large page: every buffer starts on its own

std::size_t round_up(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + granule - 1) / granule * granule;
}

}  // namespace

Expected<Allocation> Allocation::make(const Driver& driver, std::size_t bytes, const char* what) {
  Allocation a;
  if (const CUresult code = driver.cuMemAlloc(&a.address_, bytes); code != CUDA_SUCCESS)
    return tl::unexpected<Error>(driver.error(
        code, fmt::format("can't get {} MiB of device memory for {}", (bytes + (1U << 20) - 1) >> 20, what)));
  a.driver_ = &driver;
  a.bytes_ = bytes;
  return a;
}

Allocation::~Allocation() {
  if (driver_ != nullptr) driver_->cuMemFree(address_);
}

Expected<HostAllocation> HostAllocation::make(const Driver& driver, std::size_t bytes) {
  HostAllocation a;
  if (const CUresult code = driver.cuMemAllocHost(&a.data_, bytes); code != CUDA_SUCCESS)
    return tl::unexpected<Error>(driver.error(code, "can't get page-locked host memory"));
  a.driver_ = &driver;
  a.bytes_ = bytes;
  return a;
}

HostAllocation::~HostAllocation() {
  if (driver_ != nullptr) driver_->cuMemFreeHost(data_);
}

Buffers::~Buffers() {
  for (auto& [number, slot] : slots_)
    if (slot.texture != 0) driver_.cuTexObjectDestroy(slot.texture);
}

Expected<CUdeviceptr> Buffers::global(std::uint32_t number, std::uint64_t bytes) {
  Slot& slot = slots_[number];
  if (slot.memory.bytes() < bytes) {
    if (slot.texture != 0) driver_.cuTexObjectDestroy(slot.texture);
    slot = Slot{};  // frees first: old and new together might not fit
    auto made = Allocation::make(driver_, round_up(bytes), "a buffer");
    if (!made) return tl::unexpected<Error>(made.error());
    slot.memory = std::move(*made);
    if (const CUresult code = driver_.cuMemsetD32Async(slot.memory.address(), 0, slot.memory.bytes() / 4, stream_);
        code != CUDA_SUCCESS)
      return tl::unexpected<Error>(driver_.error(code, "clearing a buffer failed"));
  }
  return slot.memory.address();
}

Expected<CUtexObject> Buffers::texture(std::uint32_t number, std::uint64_t bytes) {
  if (auto ready = global(number, bytes); !ready) return tl::unexpected<Error>(ready.error());
  Slot& slot = slots_[number];
  if (slot.texture != 0) return slot.texture;
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = slot.memory.address();
  resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = std::min<std::uint64_t>(slot.memory.bytes(), 4 * texture_elements_);
  CUDA_TEXTURE_DESC description{};
  description.flags = CU_TRSF_READ_AS_INTEGER;
  if (const CUresult code = driver_.cuTexObjectCreate(&slot.texture, &resource, &description, nullptr);
      code != CUDA_SUCCESS)
    return tl::unexpected<Error>(driver_.error(code, "creating a texture failed"));
  return slot.texture;
}

}  // namespace gputopo::device::cuda
