// Device memory of a chase: owned allocations, and the buffers that programs name by slot.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "device/cuda/driver.hpp"
#include "topology/error.hpp"

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

/// The global buffers that programs share: slot i of every program is the same memory, zero-filled, grown on demand.
class Buffers {
 public:
  Buffers(const Driver& driver, CUstream stream, std::uint64_t texture_elements)
      : driver_(driver), stream_(stream), texture_elements_(texture_elements) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  /// Address of at least `bytes` bytes in slot `number`. `unavailable` where the GPU has no room.
  Expected<CUdeviceptr> global(std::uint32_t number, std::uint64_t bytes);
  /// A linear texture of 32-bit unsigned elements over the slot, as much of it as textures can cover.
  Expected<CUtexObject> texture(std::uint32_t number, std::uint64_t bytes);

 private:
  struct Slot {
    Allocation memory;
    CUtexObject texture = 0;
  };
  const Driver& driver_;
  CUstream stream_;
  std::uint64_t texture_elements_;
  std::map<std::uint32_t, Slot> slots_;
};

}  // namespace gputopo::device::cuda
