#include "cli/format_option.hpp"

#include <vector>

namespace gputopo::cli {

void add_format_option(CLI::App& command, std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const report::Format& format : report::formats()) {
    names.emplace_back(format.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  name = names.front();
  command.add_option("--format", name, "How to print: " + list)
      ->check([names, list](const std::string& value) {
        const bool known = std::find(names.begin(), names.end(), value) != names.end();
        return known ? std::string() : "unknown format '" + value + "', choose one of " + list;
      })
      ->type_name("NAME")
      ->capture_default_str();
}

report::Renderer renderer(const std::string& name) {
  const report::Format* format = report::find_format(name);
  return format == nullptr ? report::formats().front().render : format->render;
}

report::Options report_options(const Context& context, const std::string& output, bool all) {
  report::Options options;
  options.all = all;
  if (!output.empty()) return options;
  options.look = context.look;
  options.width = context.columns;
  return options;
}

}  // namespace gputopo::cli
