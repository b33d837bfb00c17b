// Every subcommand, one file each: adds itself to the application and sets Context::action when it was chosen.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/context.hpp"

namespace gputopo::cli {

void add_discover_command(CLI::App& app, Context& context);
void add_bench_command(CLI::App& app, Context& context);
void add_verify_command(CLI::App& app, Context& context);
void add_show_command(CLI::App& app, Context& context);
void add_devices_command(CLI::App& app, Context& context);
void add_models_command(CLI::App& app, Context& context);
void add_export_command(CLI::App& app, Context& context);
void add_compare_command(CLI::App& app, Context& context);
void add_doctor_command(CLI::App& app, Context& context);
void add_analyze_command(CLI::App& app, Context& context);

}  // namespace gputopo::cli
