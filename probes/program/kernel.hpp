// Which compiled kernel runs a program, and what no kernel runs.
#pragma once

#include <cstdint>

#include "program/program.hpp"

namespace gputopo::program {

/// Which of the compiled kernels a program needs.
enum class Kernel {
  chase,       ///< the interpreter
  execute,     ///< the interpreter with straight-line code
  store,       ///< the interpreter with stores
  code,        ///< walks over code, and over constants that push it out
  held_code,   ///< walks over code alone, some of which hold it while others walk
  paged_code,  ///< the same beside loads past L1 instead of constants
  banks,       ///< walks over constant banks and nothing else, in as little code as can be
};

/// Whether it walks over code, with lists of blocks in shared memory.
constexpr bool walks_code(Kernel kernel) {
  return kernel == Kernel::code || kernel == Kernel::paged_code || kernel == Kernel::held_code;
}

/// Whose constant bank a phase reads; 0 for everything else.
std::uint32_t module_of(const Program& program, const Phase& phase);
/// Modules that a program's constant banks lie in; at least 1.
std::uint32_t modules_of(const Program& program);

/// The kernel that has everything the program needs, if one does.
Kernel kernel_of(const Program& program);
/// `bad_input` where the program needs what no kernel has at once: stores beside code, or walks over code beside others
/// than that kernel's. Every device refuses that, a simulated one too: what only it could run would be lost on a GPU.
Expected<void> fits_a_kernel(const Program& program);

}  // namespace gputopo::program
