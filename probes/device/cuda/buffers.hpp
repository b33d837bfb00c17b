// The global buffers that programs name by slot.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "device/cuda/driver.hpp"
#include "device/cuda/memory.hpp"
#include "error/error.hpp"

namespace gputopo::device::cuda {

/// What a launch needs of one slot, over all of its programs.
struct BufferNeed {
  std::uint64_t bytes = 0;
  std::set<std::uint64_t> texture_parts;  ///< program::texture_part
  /// Words of 32 bits hold addresses up to here, whose high half must then be the same.
  std::uint64_t one_half_bytes = 0;
};

using BufferNeeds = std::map<std::uint32_t, BufferNeed>;  // by slot

/// The slots of one launch. There is no other way to an address, and none to grow a buffer that is in use.
class ReadyBuffers {
 public:
  struct Slot {
    CUdeviceptr address = 0;
    std::map<std::uint64_t, CUtexObject> textures;  ///< by part, of 32-bit unsigned elements; those that were asked for
  };
  const Slot& at(std::uint32_t number) const { return slots_.at(number); }

 private:
  friend class Buffers;
  std::map<std::uint32_t, Slot> slots_;
};

/// Owns the buffers: slot i of every program is the same memory, zero-filled at first, grown from launch to launch.
class Buffers {
 public:
  Buffers(const Driver& driver, CUstream stream, std::uint64_t texture_elements)
      : driver_(driver), stream_(stream), texture_elements_(texture_elements) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  /// Sizes every slot and only then takes addresses. What an earlier call gave is void. `unavailable` where the GPU has
  /// no room.
  Expected<ReadyBuffers> prepare(const BufferNeeds& needs);

 private:
  struct Slot {
    Allocation memory;
    CUdeviceptr address = 0;  ///< within `memory`
    std::uint64_t bytes = 0;  ///< from there on
    std::map<std::uint64_t, CUtexObject> textures;
  };
  Expected<void> grow(Slot& slot, const BufferNeed& need);
  Expected<void> texture_over(Slot& slot, std::uint64_t part);
  void drop(Slot& slot);

  const Driver& driver_;
  CUstream stream_;
  std::uint64_t texture_elements_;
  std::map<std::uint32_t, Slot> slots_;
};

}  // namespace gputopo::device::cuda
