#include "cli/stored.hpp"

#include <string>

#include <fmt/format.h>

#include "cli/simulated.hpp"
#include "store/environment.hpp"
#include "store/machine.hpp"
#include "store/store.hpp"

namespace gputopo::cli {
namespace {

constexpr const char* remedy = "run 'gputopo discover --save', or name a file";

tl::unexpected<Error> nothing(const std::string& why) {
  return fail(Error::Kind::unavailable, fmt::format("nothing to show: {}; {}", why, remedy));
}

}  // namespace

Expected<std::vector<Topology>> stored_topologies() {
  const store::Environment environment = store::process_environment();
  std::vector<Topology> list;
  if (environment.simulate) {
    auto topology = simulated_truth(*environment.simulate);
    if (!topology) return tl::unexpected<Error>(topology.error());
    list.push_back(std::move(*topology));
    return list;
  }
  const store::Machine machine = store::read_machine();
  if (machine.gpus.empty()) return nothing("this machine has no NVIDIA GPU with a running driver");
  std::string refusal;
  for (const store::InstalledGpu& gpu : machine.gpus) {
    store::Lookup found = store::load(gpu.uuid, machine.driver_version, environment);
    if (found.topology) list.push_back(std::move(*found.topology));
    if (refusal.empty() && !found.refusals.empty()) refusal = found.refusals.front();
  }
  if (!list.empty()) return list;
  if (!refusal.empty()) return nothing("what is stored was refused: " + refusal);
  return nothing("no topology of this machine's GPUs under its driver is stored");
}

}  // namespace gputopo::cli
