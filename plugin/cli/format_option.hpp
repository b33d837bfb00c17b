// The option --format, shared by the commands that print topologies.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/context.hpp"
#include "report/report.hpp"

namespace gputopo::cli {

/// Adds `--format NAME`; anything but a known format is a usage error. `name` must outlive the parse.
void add_format_option(CLI::App& command, std::string& name);

/// The renderer of a name that add_format_option let through.
report::Renderer renderer(const std::string& name);

/// How to render into `output` (empty: stdout, as wide and with the characters that its terminal shows).
report::Options report_options(const Context& context, const std::string& output, bool all);

}  // namespace gputopo::cli
