#include "cli/simulated.hpp"

#include "device/open/spec.hpp"
#include "device/sim/model.hpp"

namespace gputopo::cli {

Expected<Topology> simulated_truth(const std::string& name) {
  const auto model = device::names_file(name) ? sim::load_model(name) : sim::builtin_model(name);
  if (!model) return tl::unexpected<Error>(model.error());
  return sim::truth(*model);
}

}  // namespace gputopo::cli
