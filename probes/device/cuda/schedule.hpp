// From a batch of programs to kernel launches: which phases each SM works through, and where it waits for others.
// Pure planning: no GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "program/kernel.hpp"

namespace gputopo::device::cuda {

/// One phase on the SM that runs it.
struct PlannedPhase {
  std::size_t program = 0;  ///< index into the batch
  std::size_t phase = 0;    ///< index into the program
  std::uint32_t sm = 0;
  std::uint32_t module = 0;      ///< whose constant bank it reads; 0 for everything else
  std::uint32_t wait_value = 0;  ///< turn to wait for before, 0: none
  std::uint32_t post_value = 0;  ///< turn to announce afterwards, 0: none
};

using program::Kernel;

/// Phases that may be in one kernel launch, in an order that every SM keeps.
struct PlannedLaunch {
  std::uint32_t carve_out_percent = 0;
  Kernel kernel = Kernel::chase;
  bool crosses_sms = false;   ///< some phase waits for one on another SM or of another module
  std::uint32_t modules = 1;  ///< copies of the kernel, each with a constant bank, that run side by side
  std::optional<std::uint32_t> texture_slot;  ///< the buffer that Path::texture reads; one a launch
  std::vector<std::size_t> programs;
  std::vector<PlannedPhase> phases;
};

/// A chase through global memory whose words have room for whole addresses.
bool has_wide_words(const program::Walk& walk);

/// Plans `batch` on a GPU of `sm_count` SMs. Programs that isolate an SM go to SMs in turn and run at once; programs
/// with wider isolation or agents on several SMs follow one another in a chain of turns. Programs that differ in
/// carve-out, kernel or number of modules, lay different pointer chases into the same bytes or store to another's get
/// launches of their own. `bad_input` where an agent's SM or warp doesn't exist, or a program stores to its own chase
/// or beside code.
Expected<std::vector<PlannedLaunch>> plan(const program::Batch& batch, std::uint32_t sm_count, std::uint32_t warps);

}  // namespace gputopo::device::cuda
