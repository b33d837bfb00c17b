#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "files/files.hpp"
#include "store/store.hpp"
#include "store/trusted_file.hpp"
#include "topology/check.hpp"
#include "topology/json.hpp"

namespace gputopo::store {
namespace {

constexpr mode_t folder_mode = 0755;
constexpr mode_t file_mode = 0644;

std::string why(int error) {
  return std::generic_category().message(error);
}

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error) {
  return fail(Error::Kind::io, fmt::format("cannot {} {}: {}", what, path, why(error)));
}

// Creates what is missing of a path. Whether the result may be used is open_trusted_folder's business.
Expected<void> make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), folder_mode) != 0 && errno != EEXIST) return cannot("create", part, errno);
    if (end == std::string::npos) return {};
  }
}

Expected<std::string> save_into(const std::string& path, const std::string& name, std::string_view text,
                                const Environment& environment) {
  if (const auto made = make_folders(path); !made) return tl::unexpected<Error>(made.error());
  const auto folder = open_trusted_folder(path, environment);
  if (!folder) return fail(Error::Kind::io, folder.error().message);

  const std::string shown = path + "/" + name;
  if (const auto written = files::replace_in(*folder, name, text, file_mode, shown); !written)
    return tl::unexpected<Error>(written.error());
  return shown;
}

}  // namespace

Expected<std::string> save(const Topology& topology, const Environment& environment) {
  if (!is_uuid(topology.gpu.uuid))
    return fail(
        Error::Kind::bad_input,
        fmt::format("cannot save: '{}' is no GPU UUID: write the result to a file with -o instead", topology.gpu.uuid));
  if (const auto checked = check(topology); !checked)
    return fail(checked.error().kind, "cannot save: " + checked.error().message);
  // On one line: `gputopo show` is for people, and every program that loads hwloc reads this.
  const std::string text = to_json(topology).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (text.size() > size_limit_bytes)
    return fail(Error::Kind::bad_input,
                fmt::format("cannot save: {} bytes of JSON are over the store's limit of {}: leave out --all",
                            text.size(), size_limit_bytes));
  std::string reasons;
  for (const std::string& folder : folders(environment)) {
    auto saved = save_into(folder, topology.gpu.uuid + ".json", text, environment);
    if (saved) return saved;
    reasons += (reasons.empty() ? "" : "; ") + saved.error().message;
  }
  return fail(Error::Kind::io,
              fmt::format("cannot save: {}: run as root or set GPUTOPO_STORE to a folder of your own", reasons));
}

}  // namespace gputopo::store
