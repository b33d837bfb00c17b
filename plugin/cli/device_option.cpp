#include "cli/device_option.hpp"

#include <utility>

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

std::vector<std::string> files_of(const std::vector<device::Spec>& specs) {
  using Kind = device::Spec::Kind;
  std::vector<std::string> files;
  for (const device::Spec& spec : specs)
    if (spec.kind == Kind::replay || (spec.kind == Kind::sim && device::names_file(spec.name)))
      files.push_back(spec.name);
  return files;
}

device::OpenOptions open_options(const Context& context, bool quiet, std::function<void(std::string_view)> waiting) {
  device::OpenOptions options;
  options.stop = context.stop;
  options.waiting = std::move(waiting);
  if (!quiet) options.notice = [&context](std::string_view line) { context.remarks.add(std::string(line)); };
  return options;
}

}  // namespace gputopo::cli
