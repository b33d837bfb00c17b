#include "cli/stored.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/simulated.hpp"
#include "device/open/spec.hpp"
#include "store/environment.hpp"
#include "store/machine.hpp"
#include "store/store.hpp"

namespace gputopo::cli {
namespace {

constexpr const char* store_first = "run 'gputopo discover --all-gpus --save'";

tl::unexpected<Error> nothing(const std::string& verb, std::string_view why, std::string_view remedy) {
  return fail(Error::Kind::unavailable, fmt::format("nothing to {}: {}; {}", verb, why, remedy));
}

Expected<StoredGpus> simulated_gpus(const std::vector<std::string>& names) {
  StoredGpus gpus;
  for (const std::string& name : names) {
    auto topology = simulated_truth(name);
    if (!topology) return tl::unexpected<Error>(topology.error());
    gpus.numbers.push_back(static_cast<unsigned>(gpus.numbers.size()));
    gpus.topologies.push_back(std::move(*topology));
    if (device::names_file(name)) gpus.files.push_back(name);
  }
  // Without a PCI address, one simulated GPU needs no number.
  if (names.size() == 1) gpus.numbers.clear();
  return gpus;
}

// Why a GPU has no topology to show.
std::string why_missing(const store::InstalledGpu& gpu, const store::Lookup& found) {
  if (!found.refusals.empty()) return "what is stored was refused: " + found.refusals.front();
  if (gpu.uuid.empty()) return "its driver doesn't tell the UUID yet; run nvidia-smi once";
  return fmt::format("nothing is stored; {}", store_first);
}

}  // namespace

Expected<StoredGpus> stored_topologies(const std::string& verb, Remarks& remarks) {
  const store::Environment environment = store::process_environment();
  if (environment.simulate) return simulated_gpus(store::simulated_names(environment));
  const store::Machine machine = store::read_machine();
  if (machine.gpus.empty())
    return nothing(verb, "this machine has no NVIDIA GPU with a running driver",
                   "name a file that 'gputopo discover --format json' wrote");
  StoredGpus gpus;
  std::vector<std::string> missing;
  std::string refusal;
  for (unsigned number = 0; number < machine.gpus.size(); ++number) {
    const store::InstalledGpu& gpu = machine.gpus[number];
    store::Lookup found = store::load(gpu.uuid, machine.driver_version, environment);
    if (refusal.empty() && !found.refusals.empty()) refusal = found.refusals.front();
    if (found.topology) {
      gpus.topologies.push_back(std::move(*found.topology));
      gpus.numbers.push_back(number);
      gpus.files.push_back(std::move(found.path));
    } else {
      missing.push_back(fmt::format("gputopo: GPU {} at {} ({}) is left out: {}", number, gpu.pci_bus_id, gpu.name,
                                    why_missing(gpu, found)));
    }
  }
  // A refusal says itself what to do.
  if (gpus.topologies.empty() && !refusal.empty())
    return fail(Error::Kind::unavailable, fmt::format("nothing to {}: what is stored was refused: {}", verb, refusal));
  if (gpus.topologies.empty())
    return nothing(verb, "no topology of this machine's GPUs under its driver is stored", store_first);
  for (std::string& line : missing) remarks.add(std::move(line));
  return gpus;
}

}  // namespace gputopo::cli
