// The gputopo command: reads the command line, runs the subcommand, reports errors.
#pragma once

namespace gputopo::cli {

/// Exit status as in context.hpp. Never throws; every error is one line `gputopo: ...` on stderr.
int run(int argc, const char* const* argv);

}  // namespace gputopo::cli
