#include "cli/output.hpp"

#include <algorithm>
#include <array>
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

Expected<void> check_output(const std::string& path) {
  return is_stdout(path) ? Expected<void>{} : files::check_writable(path);
}

Expected<void> check_outputs(const std::string& output, const std::string& record, const std::string& evidence) {
  struct Place {
    const char* what;
    const char* option;
    const std::string& path;
  };
  const std::array<Place, 3> places{
      {{"the result", "-o", output}, {"the recording", "--record", record}, {"the evidence", "--evidence", evidence}}};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& one = places[i];
    if (i > 0 && one.path.empty()) continue;
    if (auto ok = check_output(one.path); !ok) return ok;
    for (std::size_t k = 0; k < i; ++k) {
      const Place& other = places[k];
      if (k > 0 && other.path.empty()) continue;
      if (is_stdout(one.path) && is_stdout(other.path))
        return fail(Error::Kind::bad_input, fmt::format("{} and {} can't both go to stdout; name a file by {} or {}",
                                                        other.what, one.what, other.option, one.option));
      if (!is_stdout(one.path) && !is_stdout(other.path) && files::lead_to_one_file(other.path, one.path))
        return fail(Error::Kind::bad_input,
                    fmt::format("{} and {} name the same file; give each its own", other.option, one.option));
    }
  }
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
