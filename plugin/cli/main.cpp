#include <cstdlib>

#include "cli/run.hpp"

int main(int argc, char** argv) {
  // Kernels that run side by side and wait for each other would never meet.
  unsetenv("CUDA_LAUNCH_BLOCKING");
  return gputopo::cli::run(argc, argv);
}
