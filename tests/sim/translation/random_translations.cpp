// Discovers random TLBs and counts what was right, left open and wrong. Run by hand.
#include "random_translation.hpp"
#include "tests/sim/organisation/random_run.hpp"
#include "tests/sim/programs.hpp"
#include "tests/sim/translation/found_translation.hpp"

namespace gputopo::test {

int random_translations(int argc, char** argv) {
  return run_random(argc, argv, random_translation,
                    [](const sim::Model& model) { return translation_found(model, discovered_translation(model)); });
}

}  // namespace gputopo::test
