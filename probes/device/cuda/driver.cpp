#include "device/cuda/driver.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

namespace gputopo::device::cuda {
namespace {

// What a user can do about a code, where there is something.
const char* remedy(CUresult code) {
  switch (code) {
    case CUDA_ERROR_NO_DEVICE:
      return "check nvidia-smi and CUDA_VISIBLE_DEVICES";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return "reboot so that kernel module and libcuda match";
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
      return "install the driver's libnvidia-ptxjitcompiler";
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
      return "unset CUDA_DISABLE_PTX_JIT";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_IMAGE:
      return "update the NVIDIA driver";
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "free device memory (nvidia-smi lists who holds it) and try again";
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return "another process holds this GPU exclusively; try again when it has ended";
    case CUDA_ERROR_DEVICE_NOT_LICENSED:
      return "the virtual GPU has no licence; ask the administrator";
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return "start nvidia-fabricmanager";
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return "a display watchdog ended the kernel; use a GPU without a display";
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return "the GPU reported a memory error; reset it and check nvidia-smi -q";
    default:
      return is_sticky(code) ? "the CUDA context is lost; run gputopo again and report this if it repeats" : nullptr;
  }
}

Error::Kind kind_of(CUresult code) {
  switch (code) {
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_DEVICE_NOT_LICENSED:
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return Error::Kind::unavailable;
    default:
      return Error::Kind::device;
  }
}

}  // namespace

bool is_sticky(CUresult code) {
  switch (code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return true;
    default:
      return false;
  }
}

Expected<Driver> Driver::load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(Error::Kind::unavailable,
                fmt::format("no NVIDIA driver: {} can't be loaded; install the driver", library));
  Driver driver;
  driver.library_ = std::shared_ptr<void>(handle, [](void* h) { dlclose(h); });
#define GPUTOPO_BIND(name, symbol, type)                                           \
  driver.name = reinterpret_cast<std::add_pointer_t<type>>(dlsym(handle, symbol)); \
  if (driver.name == nullptr)                                                      \
    return fail(Error::Kind::unavailable,                                          \
                fmt::format("the NVIDIA driver is too old: {} lacks {}; update the driver", library, symbol));
  GPUTOPO_DRIVER_FUNCTIONS(GPUTOPO_BIND)
#undef GPUTOPO_BIND
  if (const CUresult code = driver.cuInit(0); code != CUDA_SUCCESS)
    return tl::unexpected<Error>(driver.error(code, "the NVIDIA driver can't be used"));
  return driver;
}

Error Driver::error(CUresult code, const std::string& what) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(code, &name);
  cuGetErrorString(code, &text);
  std::string message = fmt::format("{}: {} ({})", what, text != nullptr ? text : "unknown error",
                                    name != nullptr ? name : std::to_string(static_cast<int>(code)).c_str());
  if (const char* advice = remedy(code)) message += fmt::format("; {}", advice);
  return {kind_of(code), message};
}

}  // namespace gputopo::device::cuda
