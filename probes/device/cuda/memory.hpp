// Owned allocations of device memory and of page-locked host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "device/cuda/driver.hpp"
#include "error/error.hpp"

namespace gputopo::device::cuda {

/// One cuMemAlloc, freed with the object.
class Allocation {
 public:
  Allocation() = default;
  static Expected<Allocation> make(const Driver& driver, std::size_t bytes, const char* what);
  Allocation(Allocation&& other) noexcept { swap(other); }
  Allocation& operator=(Allocation&& other) noexcept {
    swap(other);
    return *this;
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();

  CUdeviceptr address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Allocation& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  const Driver* driver_ = nullptr;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

/// Page-locked host memory: copies to and from it need no staging inside the driver.
class HostAllocation {
 public:
  HostAllocation() = default;
  static Expected<HostAllocation> make(const Driver& driver, std::size_t bytes);
  HostAllocation(HostAllocation&& other) noexcept { swap(other); }
  HostAllocation& operator=(HostAllocation&& other) noexcept {
    swap(other);
    return *this;
  }
  HostAllocation(const HostAllocation&) = delete;
  HostAllocation& operator=(const HostAllocation&) = delete;
  ~HostAllocation();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(HostAllocation& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  const Driver* driver_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gputopo::device::cuda
