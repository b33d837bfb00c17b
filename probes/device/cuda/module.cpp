#include "device/cuda/module.hpp"

#include <fmt/format.h>

namespace gputopo::device::cuda {

Module::~Module() {
  if (module_ != nullptr) driver_.cuModuleUnload(module_);
}

Expected<void> Module::load(const Image& image, const std::string& what) {
  CUresult code = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (image.machine_code != nullptr) {
    code = driver_.cuModuleLoadData(&module_, image.machine_code);
    if (code != CUDA_SUCCESS && code != CUDA_ERROR_NO_BINARY_FOR_GPU)
      return tl::unexpected<Error>(driver_.error(code, "this GPU and driver can't load " + what));
  }
  if (code == CUDA_SUCCESS) return {};
  code = driver_.cuModuleLoadData(&module_, image.ptx);
  if (code == CUDA_SUCCESS) return {};
  return tl::unexpected<Error>(driver_.error(code, "this GPU's driver can't assemble " + what));
}

Expected<CUfunction> Module::function(const std::string& name) {
  CUfunction& f = functions_[name];
  if (f != nullptr) return f;
  const CUresult code = driver_.cuModuleGetFunction(&f, module_, name.c_str());
  if (code == CUDA_SUCCESS) return f;
  f = nullptr;
  if (code == CUDA_ERROR_NOT_FOUND)
    return fail(Error::Kind::unavailable, fmt::format("there is no kernel '{}' for this GPU; leave that out", name));
  return tl::unexpected<Error>(driver_.error(code, "the kernel image is incomplete"));
}

}  // namespace gputopo::device::cuda
