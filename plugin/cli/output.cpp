#include "cli/output.hpp"

#include <unistd.h>

#include "files/files.hpp"

namespace gputopo::cli {

void add_output_option(CLI::App& command, std::string& path) {
  command.add_option("-o,--output", path, "Write to FILE instead of stdout")->type_name("FILE");
}

Expected<void> check_output(const std::string& path) {
  return path.empty() ? Expected<void>{} : files::check_writable(path);
}

Expected<void> emit(const std::string& path, std::string_view text) {
  if (!path.empty()) return files::write_atomically(path, text);
  return files::write_all(STDOUT_FILENO, text, "standard output");
}

}  // namespace gputopo::cli
