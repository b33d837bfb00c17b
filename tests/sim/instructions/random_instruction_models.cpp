// Discovers random instruction caches and counts what was right, left open and wrong. Run by hand.
#include "tests/sim/instructions/found_instructions.hpp"
#include "tests/sim/instructions/random_instructions.hpp"
#include "tests/sim/organisation/random_run.hpp"

int main(int argc, char** argv) {
  using namespace gputopo;
  return test::run_random(argc, argv, test::random_instructions, [](const sim::Model& model) {
    return test::instructions_found(model, test::discovered_instructions(model));
  });
}
