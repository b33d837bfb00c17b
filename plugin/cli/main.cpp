#include <cstdlib>

#include "cli/run.hpp"

int main(int argc, char** argv) {
  // Kernels that run side by side and wait for each other would never meet.
  unsetenv("CUDA_LAUNCH_BLOCKING");
  // Each connection to the GPU takes a context 12 to 20 ms to be made and ended; of two, kernels of any number of
  // streams run side by side (docs/measuring.md, 'What runs when').
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1);
  return gputopo::cli::run(argc, argv);
}
