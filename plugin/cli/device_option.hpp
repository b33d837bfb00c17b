// The option --device, shared by the commands that measure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/context.hpp"
#include "device/open/open.hpp"

namespace gputopo::cli {

/// Adds `--device DEVICE`, whose default is `text`; what can't be read is a usage error, and what can comes out in
/// `spec`. `text` must outlive the parse; `what` is the help.
void add_device_option(CLI::App& command, std::string& text, const std::shared_ptr<device::Spec>& spec,
                       const std::string& what);

/// The same for several devices between commas.
void add_devices_option(CLI::App& command, std::string& text, const std::shared_ptr<std::vector<device::Spec>>& specs,
                        const std::string& what);

/// While a device waits for its GPU: a line on stderr over whatever stands there, unless `quiet`, and ended by a
/// signal.
device::OpenOptions open_options(const Context& context, bool quiet);

}  // namespace gputopo::cli
