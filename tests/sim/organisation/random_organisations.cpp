// Discovers random organisations and counts what was right, left open and wrong. Run by hand.
#include "random_organisation.hpp"
#include "random_run.hpp"

int main(int argc, char** argv) {
  using namespace gputopo;
  return test::run_random(argc, argv, test::random_organisation, [](const sim::Model& model) {
    return test::organisation_found(model, test::discovered_deep(model, {}));
  });
}
