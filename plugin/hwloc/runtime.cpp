#include "hwloc/runtime.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <exception>

namespace gputopo::hwloc_component {
namespace {

// Initial-exec: the room is claimed when the component is loaded, which fails where there is none, not on first use.
[[gnu::tls_model("initial-exec")]] constinit thread_local ExceptionReserve* current = nullptr;

}  // namespace

ExceptionReserve::ExceptionReserve() {
  current = this;
}

ExceptionReserve::~ExceptionReserve() {
  current = nullptr;
}

void* ExceptionReserve::take(std::size_t size) {
  if (size > object_bytes) return nullptr;
  for (Slot& slot : slots_) {
    if (slot.is_taken) continue;
    slot.header = {};
    slot.is_taken = true;
    return slot.object.data();
  }
  return nullptr;
}

void ExceptionReserve::give_back(void* exception) {
  for (Slot& slot : slots_)
    if (slot.object.data() == exception) slot.is_taken = false;
}

}  // namespace gputopo::hwloc_component

// With these here the linker leaves the runtime's own definitions out. Should it need a part of those that is missing,
// linking fails; and nothing throws outside discover(), which keeps a reserve.
#ifdef GPUTOPO_STATIC_RUNTIME
namespace __cxxabiv1 {  // NOLINT(bugprone-reserved-identifier): the runtime's
using gputopo::hwloc_component::current;

extern "C" {

__cxa_eh_globals* __cxa_get_globals() noexcept {
  if (current == nullptr) std::abort();
  return static_cast<__cxa_eh_globals*>(current->record());
}

__cxa_eh_globals* __cxa_get_globals_fast() noexcept {
  return __cxa_get_globals();
}

void* __cxa_allocate_exception(std::size_t size) noexcept {
  void* exception = current == nullptr ? nullptr : current->take(size);
  if (exception == nullptr) std::terminate();
  return exception;
}

void __cxa_free_exception(void* exception) noexcept {
  current->give_back(exception);
}

}  // extern "C"
}  // namespace __cxxabiv1
#endif
