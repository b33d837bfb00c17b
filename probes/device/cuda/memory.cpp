#include "device/cuda/memory.hpp"

#include <fmt/format.h>

namespace gputopo::device::cuda {

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

}  // namespace gputopo::device::cuda
