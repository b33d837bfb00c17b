// The option --device, shared by the commands that measure.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
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

/// The files that such devices are made of ("-": standard input).
std::vector<std::string> files_of(const std::vector<device::Spec>& specs);

/// While a device waits for its GPU, which a signal ends, `waiting` is told so, for a progress bar; what came of the
/// wait is a remark unless `quiet`.
device::OpenOptions open_options(const Context& context, bool quiet, std::function<void(std::string_view)> waiting);

}  // namespace gputopo::cli
