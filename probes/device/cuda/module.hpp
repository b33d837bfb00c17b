// A module of kernels, loaded as machine code where this program has it for the GPU, else assembled by the driver.
#pragma once

#include <map>
#include <string>

#include "device/cuda/driver.hpp"
#include "device/cuda/images.hpp"

namespace gputopo::device::cuda {

/// Owns a module of the current context and knows its functions by name. `driver` must outlive it.
class Module {
 public:
  explicit Module(const Driver& driver) : driver_(driver) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  bool is_loaded() const { return module_ != nullptr; }
  /// Once. `what` names the kernels in error messages: "the streams' kernels".
  Expected<void> load(const Image& image, const std::string& what);
  /// `unavailable` where there is no such function.
  Expected<CUfunction> function(const std::string& name);

 private:
  const Driver& driver_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> functions_;
};

}  // namespace gputopo::device::cuda
