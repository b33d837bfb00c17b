#include "cli/run.hpp"

int main(int argc, char** argv) {
  return gputopo::cli::run(argc, argv);
}
