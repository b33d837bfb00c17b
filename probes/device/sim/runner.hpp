// Runs one checked program on the modelled caches. Internal to this folder.
#pragma once

#include <cstdint>

#include "device/sim/hierarchy.hpp"
#include "device/sim/timeline.hpp"
#include "program/program.hpp"

namespace gputopo::sim {

/// `default_sm`: where agents run that name no SM. `run_number` makes repeated runs of one program differ in noise.
program::ProgramTrace run_program(const Model& model, Hierarchy& hierarchy, Timeline& timeline,
                                  const program::Program& program, std::uint32_t default_sm, std::uint64_t run_number);

}  // namespace gputopo::sim
