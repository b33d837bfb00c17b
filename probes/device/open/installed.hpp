// Whether the machine has an NVIDIA GPU, asked of the kernel: whatever the driver library is able to say.
#pragma once

#include <string>

namespace gputopo::device {

/// The PCI address of a GPU of NVIDIA's that `root`/proc/driver/nvidia/gpus or `root`/sys/bus/pci/devices lists, with
/// or without a driver; empty where there is none. `root` is "" but in tests.
std::string installed_gpu(const std::string& root);

}  // namespace gputopo::device
