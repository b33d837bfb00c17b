#include "device/cuda/images.hpp"

// Defines the symbol gputopo_NAME as the bytes of a file, ended by a zero.
#define GPUTOPO_EMBED(name, file)           \
  asm(".section .rodata\n.balign 64\n"      \
      "gputopo_" #name ":\n.incbin \"" file \
      "\"\n.byte 0\n"                       \
      ".previous\n");                       \
  extern "C" const char gputopo_##name[] __attribute__((visibility("hidden")))

GPUTOPO_EMBED(chase_ptx, GPUTOPO_PTX_FOLDER "/chase.ptx");
GPUTOPO_EMBED(chase_execute_ptx, GPUTOPO_PTX_FOLDER "/chase_execute.ptx");
GPUTOPO_EMBED(chase_store_ptx, GPUTOPO_PTX_FOLDER "/chase_store.ptx");
GPUTOPO_EMBED(chase_banks_ptx, GPUTOPO_PTX_FOLDER "/chase_banks.ptx");
GPUTOPO_EMBED(chase_code_ptx, GPUTOPO_PTX_FOLDER "/chase_code.ptx");
GPUTOPO_EMBED(chase_held_code_ptx, GPUTOPO_PTX_FOLDER "/chase_held_code.ptx");
GPUTOPO_EMBED(chase_paged_code_ptx, GPUTOPO_PTX_FOLDER "/chase_paged_code.ptx");
GPUTOPO_EMBED(stream_ptx, GPUTOPO_PTX_FOLDER "/stream.ptx");
GPUTOPO_EMBED(work_ptx, GPUTOPO_PTX_FOLDER "/work.ptx");

#ifdef GPUTOPO_FATBIN_FOLDER
GPUTOPO_EMBED(chase_fatbin, GPUTOPO_FATBIN_FOLDER "/chase.fatbin");
GPUTOPO_EMBED(chase_execute_fatbin, GPUTOPO_FATBIN_FOLDER "/chase_execute.fatbin");
GPUTOPO_EMBED(chase_store_fatbin, GPUTOPO_FATBIN_FOLDER "/chase_store.fatbin");
GPUTOPO_EMBED(chase_banks_fatbin, GPUTOPO_FATBIN_FOLDER "/chase_banks.fatbin");
GPUTOPO_EMBED(chase_code_fatbin, GPUTOPO_FATBIN_FOLDER "/chase_code.fatbin");
GPUTOPO_EMBED(chase_held_code_fatbin, GPUTOPO_FATBIN_FOLDER "/chase_held_code.fatbin");
GPUTOPO_EMBED(chase_paged_code_fatbin, GPUTOPO_FATBIN_FOLDER "/chase_paged_code.fatbin");
GPUTOPO_EMBED(stream_fatbin, GPUTOPO_FATBIN_FOLDER "/stream.fatbin");
GPUTOPO_EMBED(work_fatbin, GPUTOPO_FATBIN_FOLDER "/work.fatbin");
#else
namespace {
constexpr const char* gputopo_chase_fatbin = nullptr;
constexpr const char* gputopo_chase_execute_fatbin = nullptr;
constexpr const char* gputopo_chase_store_fatbin = nullptr;
constexpr const char* gputopo_chase_banks_fatbin = nullptr;
constexpr const char* gputopo_chase_code_fatbin = nullptr;
constexpr const char* gputopo_chase_held_code_fatbin = nullptr;
constexpr const char* gputopo_chase_paged_code_fatbin = nullptr;
constexpr const char* gputopo_stream_fatbin = nullptr;
constexpr const char* gputopo_work_fatbin = nullptr;
}  // namespace
#endif

namespace gputopo::device::cuda {

Image image_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::execute:
      return {gputopo_chase_execute_fatbin, gputopo_chase_execute_ptx, "chase_execute"};
    case Kernel::store:
      return {gputopo_chase_store_fatbin, gputopo_chase_store_ptx, "chase_store"};
    case Kernel::code:
      return {gputopo_chase_code_fatbin, gputopo_chase_code_ptx, "chase_code"};
    case Kernel::held_code:
      return {gputopo_chase_held_code_fatbin, gputopo_chase_held_code_ptx, "chase_held_code"};
    case Kernel::paged_code:
      return {gputopo_chase_paged_code_fatbin, gputopo_chase_paged_code_ptx, "chase_paged_code"};
    case Kernel::banks:
      return {gputopo_chase_banks_fatbin, gputopo_chase_banks_ptx, "chase_banks"};
    case Kernel::chase:
      break;
  }
  return {gputopo_chase_fatbin, gputopo_chase_ptx, "chase"};
}

Image stream_image() {
  return {gputopo_stream_fatbin, gputopo_stream_ptx, "stream_"};
}

Image work_image() {
  return {gputopo_work_fatbin, gputopo_work_ptx, "work_"};
}

}  // namespace gputopo::device::cuda
