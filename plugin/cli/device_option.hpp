// The option --device, shared by the commands that measure.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "device/open/spec.hpp"

namespace gputopo::cli {

/// Adds `--device DEVICE`, whose default is `text`; what can't be read is a usage error, and what can comes out in
/// `spec`. `text` must outlive the parse; `what` is the help.
void add_device_option(CLI::App& command, std::string& text, const std::shared_ptr<device::Spec>& spec,
                       const std::string& what);

}  // namespace gputopo::cli
