#include "cli/simulated.hpp"

#include "device/open/spec.hpp"
#include "device/sim/model.hpp"

namespace gputopo::cli {

namespace {

Expected<sim::Model> model_of(const std::string& name) {
  return device::names_file(name) ? sim::load_model(name) : sim::builtin_model(name);
}

}  // namespace

Expected<Topology> simulated_truth(const std::string& name) {
  return model_of(name).map([](const sim::Model& model) { return sim::truth(model); });
}

Expected<Topology> whole_simulated_truth(const std::string& name) {
  return model_of(name).map([](const sim::Model& model) {
    Topology topology = sim::truth(model);
    sim::add_organisation(model, topology);
    sim::add_writes(model, topology);
    sim::add_translation(model, topology);
    sim::add_memory_patterns(model, topology);
    sim::add_instructions(model, topology);
    topology.provenance.notes = sim::remarks(model);
    return topology;
  });
}

}  // namespace gputopo::cli
