#include "device/cuda/fatbins.hpp"

asm(".section .rodata\n"
    ".balign 64\n"
    "gputopo_chase_fatbin:\n"
    ".incbin \"" GPUTOPO_CHASE_FATBIN
    "\"\n"
    ".balign 64\n"
    "gputopo_chase_execute_fatbin:\n"
    ".incbin \"" GPUTOPO_CHASE_EXECUTE_FATBIN
    "\"\n"
    ".balign 64\n"
    "gputopo_chase_banks_fatbin:\n"
    ".incbin \"" GPUTOPO_CHASE_BANKS_FATBIN
    "\"\n"
    ".previous\n");

extern "C" const unsigned char gputopo_chase_fatbin[] __attribute__((visibility("hidden")));
extern "C" const unsigned char gputopo_chase_execute_fatbin[] __attribute__((visibility("hidden")));
extern "C" const unsigned char gputopo_chase_banks_fatbin[] __attribute__((visibility("hidden")));

namespace gputopo::device::cuda {

const void* chase_fatbin() {
  return gputopo_chase_fatbin;
}
const void* chase_execute_fatbin() {
  return gputopo_chase_execute_fatbin;
}
const void* chase_banks_fatbin() {
  return gputopo_chase_banks_fatbin;
}

}  // namespace gputopo::device::cuda
