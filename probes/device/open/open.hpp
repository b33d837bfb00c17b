// Opens a device by its name and lists those that can be opened.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "device/open/spec.hpp"
#include "error/error.hpp"

namespace gputopo::device {

struct Opened {
  std::unique_ptr<Device> device;
  std::string headline;  ///< one line for the user: which GPU this is, and whether it is real, simulated or recorded
};

/// The model that `auto` falls back to.
inline constexpr const char* fallback_model = "h200";

/// Where GPUs are looked for, and what a device that has to wait for its own does meanwhile.
struct OpenOptions {
  std::function<void(std::string_view)> waiting;  ///< told what is waited for as a wait begins
  std::function<void(std::string_view)> notice;   ///< gets one line for the user after a wait
  const std::atomic<bool>* stop = nullptr;        ///< ends the wait
  std::string root;                               ///< where the kernel's files are looked for, "" but in tests
};

/// Opens what `spec` names. `automatic` is the first real GPU that opens; on a machine without any it is the simulated
/// fallback, and the headline says why. A GPU that exists but can't be used (no driver, no driver library, hidden from
/// CUDA) is an error: nobody who has one is shown another.
Expected<Opened> open(const Spec& spec, const OpenOptions& options = {});

struct Listed {
  std::string spec;  ///< what to pass to parse_spec
  DeviceInfo info;
};

struct DeviceList {
  std::vector<Listed> real;
  std::vector<Listed> simulated;  ///< the built-in models
  std::string no_real_reason;     ///< why `real` is empty, for the user
};

DeviceList list_devices();

}  // namespace gputopo::device
