#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

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

Expected<void> write_all(const Descriptor& file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // On the disk before it takes the name, so that a crash leaves the old file or the whole new one.
  if (fchmod(file.get(), file_mode) != 0 || fsync(file.get()) != 0) return cannot("write", path, errno);
  return {};
}

Expected<std::string> save_into(const std::string& path, const std::string& name, std::string_view text,
                                const Environment& environment) {
  if (const auto made = make_folders(path); !made) return tl::unexpected<Error>(made.error());
  const auto folder = open_trusted_folder(path, environment);
  if (!folder) return fail(Error::Kind::io, folder.error().message);

  const std::string temporary = fmt::format(".{}.{}.tmp", name, getpid());
  const std::string shown = path + "/" + name;
  unlinkat(folder->get(), temporary.c_str(), 0);  // left by a process of the same number that was killed
  const Descriptor file(
      openat(folder->get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!file.is_open()) return cannot("write into", path, errno);
  auto written = write_all(file, text, shown);
  if (written && renameat(folder->get(), temporary.c_str(), folder->get(), name.c_str()) != 0)
    written = cannot("rename a file to", shown, errno);
  if (!written) {
    unlinkat(folder->get(), temporary.c_str(), 0);
    return tl::unexpected<Error>(written.error());
  }
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
  const std::string text = to_json(topology).dump() + "\n";
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
