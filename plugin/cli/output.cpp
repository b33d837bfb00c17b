#include "cli/output.hpp"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "files/files.hpp"
#include "stop/stop.hpp"
#include "text/printable.hpp"

namespace gputopo::cli {

void add_output_option(CLI::App& command, std::string& path) {
  command.add_option("-o,--output", path, "Write to FILE instead of stdout (-)")->type_name("FILE");
}

namespace {

bool is_stdout(const std::string& path) {
  return path.empty() || path == "-";
}

// Colours are passed as they are; whatever else would steer a terminal isn't.
std::string fit_to_show(std::string_view text, bool colored) {
  std::string shown;
  while (!text.empty()) {
    if (const std::size_t color = colored ? report::color_length(text) : 0; color != 0) {
      shown += text.substr(0, color);
      text.remove_prefix(color);
      continue;
    }
    const std::size_t plain = colored ? std::min(text.find('\x1b', 1), text.size()) : text.size();
    shown += text::printable(text.substr(0, plain), plain, "\n\t");
    text.remove_prefix(plain);
  }
  return shown;
}

}  // namespace

Expected<void> emit(const std::string& path, std::string_view text, const report::Look& look) {
  stop::look();
  const std::string shown = fit_to_show(text, look.color && is_stdout(path));
  if (!is_stdout(path)) return files::write_atomically(path, shown);
  return files::write_all(STDOUT_FILENO, shown, "standard output");
}

void tell(std::string_view message) {
  std::string line(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  static_cast<void>(files::write_all(STDERR_FILENO, text::message(line) + "\n", "standard error"));
}

}  // namespace gputopo::cli
