#include "cli/device_option.hpp"

#include <unistd.h>

#include "cli/output.hpp"
#include "files/files.hpp"

namespace gputopo::cli {

namespace {

// `parse` turns the option's text into what `parsed` points at.
template <class Parse, class Parsed>
void add_option(CLI::App& command, std::string& text, const Parse& parse, const std::shared_ptr<Parsed>& parsed,
                const std::string& what, const char* type) {
  command.add_option("--device", text, what)
      ->check([parse, parsed](const std::string& value) {
        auto result = parse(value);
        if (result) *parsed = *result;
        return result ? std::string() : result.error().message;
      })
      ->type_name(type)
      ->capture_default_str();
}

}  // namespace

void add_device_option(CLI::App& command, std::string& text, const std::shared_ptr<device::Spec>& spec,
                       const std::string& what) {
  add_option(command, text, device::parse_spec, spec, what, "DEVICE");
}

void add_devices_option(CLI::App& command, std::string& text, const std::shared_ptr<std::vector<device::Spec>>& specs,
                        const std::string& what) {
  add_option(command, text, device::parse_specs, specs, what, "DEVICE,...");
}

device::OpenOptions open_options(const Context& context, bool quiet) {
  device::OpenOptions options;
  options.stop = context.stop;
  const bool over_progress = context.stderr_is_terminal;
  if (!quiet)
    options.notice = [over_progress](std::string_view line) {
      if (over_progress) static_cast<void>(files::write_all(STDERR_FILENO, "\r\033[K", "standard error"));
      tell(line);
    };
  return options;
}

}  // namespace gputopo::cli
