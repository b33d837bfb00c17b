// The main() of a program that is built: GPUTOPO_PROGRAM names it.
#include "tests/sim/programs.hpp"

int main(int argc, char** argv) {
  return gputopo::test::GPUTOPO_PROGRAM(argc, argv);
}
