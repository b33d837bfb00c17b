// Whether a recorded trace is what it says it is. A file can be altered so that its checksum fits, and what reads a
// trace relies on its shape.
#pragma once

#include "error/error.hpp"
#include "program/program.hpp"

namespace gputopo::replay {

/// What can be said when a recording is opened, where programs are known by their hash alone: no phase records in two
/// ways at once, and what it recorded fits its loads. The error's message goes on from 'run N'.
Expected<void> check_consistent(const program::ProgramTrace& trace);

/// What can be said when the program is asked for: every phase has what the program records there, as much as it
/// records, and nothing else, and every agent has its SM. The error's message goes on from 'the run of P'.
Expected<void> check_against(const program::ProgramTrace& trace, const program::Program& program);

}  // namespace gputopo::replay
