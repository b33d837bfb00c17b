// Where a command's data goes: stdout or the file of -o, whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "error/error.hpp"
#include "report/look.hpp"

namespace gputopo::cli {

/// Adds `-o,--output FILE`.
void add_output_option(CLI::App& command, std::string& path);

/// Writes `text` to stdout (empty path or "-") or atomically to a file, with a '?' for what would steer a terminal.
/// On stdout the colours of a text that was made for `look` stay. Error: `io`, also where stdout is closed or full.
/// Throws stop::Interrupted where the user asked to stop before.
Expected<void> emit(const std::string& path, std::string_view text, const report::Look& look = {});

/// One line on stderr, whatever the message holds (text::message). It is run()'s to call, for an error or for what a
/// command left in its Remarks; should stderr be gone, nobody is left to tell.
void tell(std::string_view message);

}  // namespace gputopo::cli
