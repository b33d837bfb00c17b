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

}  // namespace

Expected<void> emit(const std::string& path, std::string_view text) {
  stop::look();
  const std::string shown = text::printable(text, text.size(), "\n\t");
  if (!is_stdout(path)) return files::write_atomically(path, shown);
  return files::write_all(STDOUT_FILENO, shown, "standard output");
}

void tell(std::string_view message) {
  std::string line(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  static_cast<void>(files::write_all(STDERR_FILENO, text::message(line) + "\n", "standard error"));
}

}  // namespace gputopo::cli
