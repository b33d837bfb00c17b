// Discovers random organisations and counts what was right, left open and wrong. Run by hand.
#include "random_organisation.hpp"
#include "random_run.hpp"
#include "tests/sim/programs.hpp"

namespace gputopo::test {

int random_organisations(int argc, char** argv) {
  return run_random(argc, argv, random_organisation,
                    [](const sim::Model& model) { return organisation_found(model, discovered_deep(model, {})); });
}

}  // namespace gputopo::test
