// The NVIDIA GPUs of this machine as its kernel shows them: no driver library, no context, a few small files.
#pragma once

#include <string>
#include <vector>

namespace gputopo::store {

struct InstalledGpu {
  std::string pci_bus_id;  ///< "0000:3b:00.0", lower case; the domain has at least 4 digits
  std::string uuid;        ///< empty where the driver hasn't read it yet
  std::string name;        ///< "NVIDIA H200", empty where unknown
  std::string local_cpus;  ///< CPUs near it, "0-15,32-47", empty where unknown
};

struct Machine {
  std::string driver_version;      ///< of the running NVIDIA kernel module, empty without one
  std::vector<InstalledGpu> gpus;  ///< in PCI order
};

/// Reads `root`/proc/driver/nvidia/gpus/*/information, `root`/sys/bus/pci/devices/*/local_cpulist and
/// `root`/sys/module/nvidia/version. `root` is "" but in tests.
/// A machine without the NVIDIA driver costs one failed look at a folder. Never fails; what can't be read isn't listed.
Machine read_machine(const std::string& root = "");

/// A PCI address in the form used here: lower case, a domain of at least 4 digits ("00000000:3B:00.0" is
/// "0000:3b:00.0"). Empty for what is no PCI address.
std::string normal_bus_id(const std::string& bus_id);

}  // namespace gputopo::store
