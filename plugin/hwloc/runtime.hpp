// What the component's own copy of the C++ runtime needs to throw, kept ready.
//
// libstdc++ takes an exception's memory from the heap, or from a pool that it claims from the heap when it is loaded,
// and ends the process where it gets neither; and the thread-local record of what was caught is made by the dynamic
// linker on a thread's first throw, which ends the process if there is no memory. A host that has run out of memory
// must survive that, so both come from the stack here.
#pragma once

#include <array>
#include <cstddef>

namespace gputopo::hwloc_component {

/// While one exists, its thread can throw without taking memory from anywhere. To be made on the stack of whatever
/// catches; no exception may outlive it. One a thread, not nested.
class ExceptionReserve {
 public:
  ExceptionReserve();
  ~ExceptionReserve();
  ExceptionReserve(const ExceptionReserve&) = delete;
  ExceptionReserve& operator=(const ExceptionReserve&) = delete;

  /// Room for an exception of `size` bytes and, before it, for the runtime's zeroed header; nullptr where all is taken.
  void* take(std::size_t size);
  void give_back(void* exception);
  /// The runtime's record of the thread's exceptions, zeroed at first.
  void* record() { return record_.data(); }

 private:
  static constexpr std::size_t record_bytes = 64;   // the runtime's has 16
  static constexpr std::size_t header_bytes = 256;  // the runtime's has 128
  static constexpr std::size_t object_bytes = 128;  // more than any exception's that is thrown here
  struct alignas(16) Slot {
    std::array<std::byte, header_bytes> header;
    std::array<std::byte, object_bytes> object;
    bool is_taken = false;
  };
  alignas(16) std::array<std::byte, record_bytes> record_{};
  std::array<Slot, 6> slots_{};  // an error that occurs while one is handled needs a second, and so on
};

}  // namespace gputopo::hwloc_component
