#include "cli/places.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "files/files.hpp"

namespace gputopo::cli {
namespace {

bool goes_to_stdout(const Output& output) {
  return output.path.empty() || output.path == "-";
}

files::Named place_of(const Output& output) {
  return goes_to_stdout(output) ? files::Named{{}, STDOUT_FILENO} : files::Named{output.path};
}

files::Named place_of_input(const std::string& path) {
  return path == "-" ? files::Named{{}, STDIN_FILENO} : files::Named{path};
}

tl::unexpected<Error> meet(const Output& first, const Output& second) {
  if (goes_to_stdout(first) || goes_to_stdout(second))
    return fail(Error::Kind::bad_input, fmt::format("{} and {} can't both go to stdout; name a file by {} or {}",
                                                    first.what, second.what, first.option, second.option));
  return fail(Error::Kind::bad_input,
              fmt::format("{} and {} name the same file; give each its own", first.option, second.option));
}

tl::unexpected<Error> overwrites(const Output& output) {
  const std::string where = goes_to_stdout(output) ? "stdout" : "'" + output.path + "'";
  return fail(Error::Kind::bad_input,
              fmt::format("can't write {} to {}: that file is read as well and would be lost; name another one by {}",
                          output.what, where, output.option));
}

}  // namespace

Output result_output(const std::string& path) {
  return {"the result", "-o", path};
}

Expected<void> check_apart(const std::vector<Output>& outputs, const Output& other) {
  for (const Output& output : outputs)
    if ((goes_to_stdout(output) && goes_to_stdout(other)) || files::lead_to_one_file(place_of(output), place_of(other)))
      return meet(output, other);
  return {};
}

Expected<void> check_places(const std::vector<Output>& outputs, const std::vector<std::string>& inputs) {
  std::vector<Output> before;
  for (const Output& output : outputs) {
    if (!goes_to_stdout(output))
      if (auto ok = files::check_writable(output.path); !ok) return ok;
    if (auto ok = check_apart(before, output); !ok) return ok;
    for (const std::string& input : inputs)
      if (const auto read = place_of_input(input);
          files::holds_data(read) && files::lead_to_one_file(place_of(output), read))
        return overwrites(output);
    before.push_back(output);
  }
  return {};
}

}  // namespace gputopo::cli
