#include "cli/output.hpp"

#include <algorithm>
#include <unistd.h>

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

Expected<void> check_output(const std::string& path) {
  return is_stdout(path) ? Expected<void>{} : files::check_writable(path);
}

Expected<void> check_outputs(const std::string& output, const std::string& record) {
  for (const std::string& path : {output, record})
    if (auto ok = check_output(path); !ok) return ok;
  if (record.empty()) return {};
  if (is_stdout(output) && is_stdout(record))
    return fail(Error::Kind::bad_input,
                "the result and the recording can't both go to stdout; name a file by -o or --record");
  if (!is_stdout(output) && !is_stdout(record) && files::lead_to_one_file(output, record))
    return fail(Error::Kind::bad_input, "-o and --record name the same file; give each its own");
  return {};
}

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
