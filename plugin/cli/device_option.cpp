#include "cli/device_option.hpp"

#include <fmt/format.h>

#include "files/files.hpp"

namespace gputopo::cli {

void add_device_option(CLI::App& command, std::string& text, const std::shared_ptr<device::Spec>& spec,
                       const std::string& what) {
  command.add_option("--device", text, what)
      ->check([spec](const std::string& value) {
        auto parsed = device::parse_spec(value);
        if (parsed) *spec = *parsed;
        return parsed ? std::string() : parsed.error().message;
      })
      ->type_name("DEVICE")
      ->capture_default_str();
}

device::OpenOptions open_options(const Context& context, bool quiet) {
  device::OpenOptions options;
  options.stop = context.stop;
  const std::string over_progress = context.stderr_is_terminal ? "\r\033[K" : "";
  if (!quiet)
    options.notice = [over_progress](std::string_view line) {
      static_cast<void>(files::write_all(2, fmt::format("{}{}\n", over_progress, line), "standard error"));
    };
  return options;
}

}  // namespace gputopo::cli
