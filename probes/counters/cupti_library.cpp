#include "counters/cupti_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <fmt/format.h>

namespace gputopo::counters {
namespace {

// Whether the user (or whoever runs the machine) can change something, rather than a failure of the GPU.
bool is_refusal(CUptiResult code) {
  switch (code) {
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* remedy(CUptiResult code) {
  switch (code) {
    case CUPTI_ERROR_NOT_SUPPORTED:
      return "this GPU, driver or virtual machine offers no counters to this process: it takes a GPU from Volta on, a "
             "driver as new as CUPTI, and NVreg_RestrictProfilingToAdminUsers=0 or root";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "a virtual GPU has no counters here; use a GPU that is passed through whole";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver keeps the counters from this user; run as root";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another profiler holds the counters; end it (ncu, nsys, a debugger; of DCGM 'dcgmi profile --pause' will "
             "do)";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the hypervisor keeps the counters from this virtual machine; have its administrator allow profiling "
             "(enable_profiling=1 for a vGPU)";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "confidential computing hides the counters; switch it to its development mode";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return "a MIG slice has no counters of its own; switch MIG off ('nvidia-smi -mig 0')";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
      return "a mining GPU has no counters; use another GPU";
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
      return "GPUs in SLI have no counters; switch SLI off";
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return "allow it in Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters";
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return "this CUPTI doesn't know the chip; install a newer CUDA toolkit";
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return "an older profiling interface is in use in this process; unset CUDA_INJECTION64_PATH and try again";
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      return "check that the driver is as new as CUPTI's toolkit, and that libnvperf_host.so and libnvperf_target.so "
             "lie beside libcupti.so";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "free memory of the host and of the GPU, and try again";
    default:
      return nullptr;
  }
}

namespace {

// CUPTI opens these by their bare names, which the loader knows of a toolkit in ld.so.conf alone; elsewhere it finds
// those that are open already. A toolkit without them says so itself.
void open_what_lies_beside(void* cupti) {
  link_map* map = nullptr;
  if (dlinfo(cupti, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  const std::string path = map->l_name;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (folder.empty()) return;
  for (const char* name : {"libnvperf_host.so", "libnvperf_target.so"})
    static_cast<void>(dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL));  // never closed, as CUPTI isn't
}

}  // namespace

Expected<Cupti> Cupti::load(const std::vector<std::string>& candidates) {
  std::string lacking;
  for (const std::string& name : candidates) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    Cupti cupti;
    // Never unloaded: CUPTI leaves hooks in the driver.
    cupti.library_ = std::shared_ptr<void>(handle, [](void*) {});
    bool complete = true;
#define GPUTOPO_BIND(function)                                                           \
  cupti.function = reinterpret_cast<decltype(cupti.function)>(dlsym(handle, #function)); \
  if (cupti.function == nullptr) {                                                       \
    if (complete) lacking = fmt::format("{} lacks {}", name, #function);                 \
    complete = false;                                                                    \
  }
    GPUTOPO_CUPTI_FUNCTIONS(GPUTOPO_BIND)
#undef GPUTOPO_BIND
    if (complete) {
      open_what_lies_beside(handle);
      return cupti;
    }
  }
  if (!lacking.empty())
    return fail(Error::Kind::unavailable,
                fmt::format("CUPTI is too old: {}; install that of CUDA 12.6 or newer", lacking));
  return fail(Error::Kind::unavailable,
              fmt::format("no hardware counters: {} can't be loaded; install the CUDA toolkit's cupti package",
                          candidates.empty() ? "libcupti" : candidates.front()));
}

Expected<void> Cupti::check(CUptiResult code, const std::string& what) const {
  if (code == CUPTI_SUCCESS) return {};
  const char* text = nullptr;
  if (cuptiGetResultString(code, &text) != CUPTI_SUCCESS) text = nullptr;
  std::string message =
      fmt::format("{}: {} (CUPTI error {})", what, text != nullptr ? text : "unknown error", static_cast<int>(code));
  if (const char* advice = remedy(code)) message += fmt::format("; {}", advice);
  return fail(is_refusal(code) ? Error::Kind::unavailable : Error::Kind::device, std::move(message));
}

Expected<CUcontext> current_context(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(Error::Kind::unavailable,
                fmt::format("no NVIDIA driver: {} can't be loaded; install the driver", library));
  const auto get = reinterpret_cast<decltype(&::cuCtxGetCurrent)>(dlsym(handle, "cuCtxGetCurrent"));
  CUcontext context = nullptr;
  const bool found = get != nullptr && get(&context) == CUDA_SUCCESS && context != nullptr;
  dlclose(handle);
  if (!found)
    return fail(Error::Kind::unavailable,
                "no GPU is open in this thread, so there is nothing to count; open the device first");
  return context;
}

}  // namespace gputopo::counters
