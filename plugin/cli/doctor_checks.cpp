#include "cli/doctor_checks.hpp"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/doctor_programs.hpp"
#include "counters/locate.hpp"
#include "device/open/open.hpp"
#include "files/files.hpp"
#include "store/environment.hpp"
#include "store/machine.hpp"
#include "store/store.hpp"

namespace gputopo::cli {
namespace {

using Result = Check::Result;

// Never unloaded: libraries that carry a C++ runtime of their own, as CUPTI does, would leave its memory behind.
bool loads(const std::string& library) {
  return ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) != nullptr;
}

Check driver(const store::Machine& machine) {
  if (!machine.driver_version.empty()) return {Result::good, "NVIDIA driver", "version " + machine.driver_version, {}};
  return {Result::missing, "NVIDIA driver", "its kernel module isn't loaded",
          "install NVIDIA's driver (where it is installed: modprobe nvidia)"};
}

Check driver_library() {
  if (loads("libcuda.so.1")) return {Result::good, "CUDA driver library", "libcuda.so.1 loads", {}};
  return {Result::missing, "CUDA driver library", "libcuda.so.1 can't be loaded",
          "install the driver's libcuda1 (in a container: run it with the GPU's runtime)"};
}

Check rights() {
  constexpr const char* node = "/dev/nvidiactl";
  if (::access(node, F_OK) != 0)
    return {Result::missing, "Device nodes", fmt::format("{} isn't there", node),
            "load the driver (in a container: pass the GPU into it)"};
  if (::access(node, R_OK | W_OK) != 0)
    return {Result::missing, "Device nodes", fmt::format("{} may not be opened", node),
            "join the group that owns /dev/nvidia*"};
  return {Result::good, "Device nodes", fmt::format("{} may be opened", node), {}};
}

std::string kernels_of(const device::DeviceInfo& info) {
  if (info.kernels.empty()) return {};
  return info.kernels == "ptx" ? ", its driver assembles the kernels' PTX" : ", runs the kernels as machine code";
}

void gpus(std::vector<Check>& checks) {
  const device::DeviceList list = device::list_devices();
  if (list.real.empty())
    checks.push_back(
        {Result::missing, "GPU", list.no_real_reason, "without one, measure a simulated GPU: --device sim:h200"});
  for (const device::Listed& listed : list.real) {
    const auto spec = device::parse_spec(listed.spec);
    const auto opened = spec ? device::open(*spec) : tl::unexpected<Error>(spec.error());
    const std::string what = fmt::format("{} {}", listed.spec, listed.info.gpu.name);
    if (opened)
      checks.push_back({Result::good, "GPU", fmt::format("{} opens{}", what, kernels_of(opened->device->info())), {}});
    else
      checks.push_back({Result::missing, "GPU", what + ": " + opened.error().message, "see the message"});
  }
}

Check profiling() {
  const auto candidates = counters::cupti_candidates();
  const auto found = std::find_if(candidates.begin(), candidates.end(), loads);
  if (found == candidates.end())
    return {Result::limited, "Hardware counters", "CUPTI isn't installed",
            "to check timing against counters, install the toolkit's cupti package"};
  const auto parameters = files::read_file("/proc/driver/nvidia/params", 65536);
  if (::geteuid() != 0 && parameters && parameters->find("RmProfilingAdminOnly: 1") != std::string::npos)
    return {Result::limited, "Hardware counters", "the driver lets root alone read them",
            "load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"};
  return {Result::good, "Hardware counters", fmt::format("{} loads", *found), {}};
}

Check hwloc() {
  if (loads("libhwloc.so.15")) return {Result::good, "hwloc", "libhwloc.so.15 loads", {}};
  return {Result::limited, "hwloc", "libhwloc.so.15 can't be loaded", "to see GPUs in lstopo, install hwloc"};
}

void stores(std::vector<Check>& checks) {
  bool writable = false;
  const auto folders = store::folders(store::process_environment());
  for (const std::string& folder : folders) {
    struct stat status {};
    const bool exists = ::stat(folder.c_str(), &status) == 0;
    store::Environment alone = store::process_environment();
    alone.elevated = false;
    alone.store = folder;
    const bool can_write = store::check_writable(alone).has_value();
    writable = writable || can_write;
    const char* state = !exists ? "isn't there yet" : "is there";
    checks.push_back(
        {Result::good, "Store", fmt::format("{} {}{}", folder, state, can_write ? ", can be written" : ""), {}});
  }
  if (!writable)
    checks.push_back(
        {Result::limited, "Store", "no folder can be written", "set GPUTOPO_STORE to a folder of your own"});
}

void stored(const store::Machine& machine, std::vector<Check>& checks) {
  for (const store::InstalledGpu& gpu : machine.gpus) {
    const store::Lookup found = store::load(gpu.uuid, machine.driver_version, store::process_environment());
    for (const std::string& refusal : found.refusals)
      checks.push_back({Result::limited, "Stored topology", refusal, {}});
    if (found.topology)
      checks.push_back({Result::good, "Stored topology", found.path, {}});
    else if (found.refusals.empty())
      checks.push_back({Result::limited, "Stored topology", "none of the GPU at " + gpu.pci_bus_id,
                        "run discover --all-gpus --save"});
  }
}

}  // namespace

std::vector<Check> run_checks() {
  const store::Machine machine = store::read_machine();
  std::vector<Check> checks{driver(machine), driver_library(), rights()};
  gpus(checks);
  checks.push_back(profiling());
  for (Check& other : users_of_gpus("")) checks.push_back(std::move(other));
  checks.push_back(hwloc());
  checks.push_back(lstopo());
  checks.push_back(likwid());
  for (Check& simulated : simulated_gpus(store::process_environment())) checks.push_back(std::move(simulated));
  stores(checks);
  stored(machine, checks);
  return checks;
}

}  // namespace gputopo::cli
