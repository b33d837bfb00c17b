// The process around the program: signals and the standard descriptors.
#pragma once

#include <atomic>

namespace gputopo::cli {

/// From now on the first SIGINT or SIGTERM sets the flag returned, stop::requested, wakes whatever waits and ends the
/// process within a second at the latest, with Exit::interrupted; a second one ends it at once. A closed pipe and the
/// limit on the size of files are errors of write() and no signals.
const std::atomic<bool>& install_signal_handlers();

/// Occupies descriptors 0 to 2 where the caller closed them, by ones that refuse reading and writing, so that no file
/// opened later takes a standard stream's place.
void reserve_standard_descriptors();

/// Whether stdout is a terminal whose locale is UTF-8.
bool stdout_shows_unicode();

/// Whether stdout is a terminal that shows colours, and nobody said NO_COLOR (no-color.org).
bool stdout_shows_color();

/// Columns of stdout's terminal, at least 80; 80 where stdout is no terminal.
std::size_t stdout_columns();

bool stderr_is_terminal();

}  // namespace gputopo::cli
