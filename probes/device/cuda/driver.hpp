// The CUDA driver by dlopen: no link-time dependency, and an error a user can act on where it is missing.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "device/cuda/driver_functions.hpp"
#include "error/error.hpp"

namespace gputopo::device::cuda {

/// Pointers into libcuda. Copyable; the library stays loaded as long as one copy lives.
class Driver {
 public:
  /// Loads `library` and initialises it. `unavailable` where there is no driver, it lacks a function (too old), or
  /// cuInit refuses; the message says which and what to do.
  static Expected<Driver> load(const std::string& library = "libcuda.so.1");

#define GPUTOPO_DECLARE(name, symbol, type) std::add_pointer_t<type> name = nullptr;
  GPUTOPO_DRIVER_FUNCTIONS(GPUTOPO_DECLARE)
#undef GPUTOPO_DECLARE

  /// One line about a failed call: what was tried, CUDA's name and text for the code, and the remedy where known.
  Error error(CUresult code, const std::string& what) const;

 private:
  std::shared_ptr<void> library_;
};

/// True for errors after which the context can't be used any more.
bool is_sticky(CUresult code);

}  // namespace gputopo::device::cuda
