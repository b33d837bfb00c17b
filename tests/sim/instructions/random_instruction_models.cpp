// Discovers random instruction caches and counts what was right, left open and wrong. Run by hand.
#include "tests/sim/instructions/found_instructions.hpp"
#include "tests/sim/instructions/random_instructions.hpp"
#include "tests/sim/organisation/random_run.hpp"
#include "tests/sim/programs.hpp"

namespace gputopo::test {

int random_instruction_models(int argc, char** argv) {
  return run_random(argc, argv, random_instructions,
                    [](const sim::Model& model) { return instructions_found(model, discovered_instructions(model)); });
}

}  // namespace gputopo::test
