// Discovers random TLBs and counts what was right, left open and wrong. Run by hand.
#include "random_translation.hpp"
#include "tests/sim/organisation/random_run.hpp"
#include "tests/sim/translation/found_translation.hpp"

int main(int argc, char** argv) {
  using namespace gputopo;
  return test::run_random(argc, argv, test::random_translation, [](const sim::Model& model) {
    return test::translation_found(model, test::discovered_translation(model));
  });
}
