#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "files/files.hpp"
#include "store/folder_lock.hpp"
#include "store/merge.hpp"
#include "store/store.hpp"
#include "store/trusted_file.hpp"
#include "topology/check.hpp"
#include "topology/json.hpp"

namespace gputopo::store {
namespace {

constexpr mode_t folder_mode = 0755;
constexpr mode_t file_mode = 0644;
constexpr const char* remedy = "set GPUTOPO_STORE to a folder of your own";

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error) {
  return fail(Error::Kind::io, fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(error)));
}

// Creates what is missing of a path. Whether the result may be used is open_trusted_folder's business.
Expected<void> make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), folder_mode) != 0 && errno != EEXIST) return cannot("create", part, errno);
    if (end == std::string::npos) return {};
  }
}

// Something of an unpredictable name is made there and removed at once: rights alone don't tell of a file system that
// is read-only, full or none of that kind. What isn't there yet isn't made, so that two who ask at once don't meet.
Expected<void> can_make_something_in(const std::string& folder, const std::string& shown) {
  std::string name = folder + "/.gputopo-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return cannot("write to", shown, errno);
  rmdir(name.c_str());
  return {};
}

// The folder itself, or where it isn't there yet the one that it would be made in.
Expected<void> can_save_into(const std::string& path, const Environment& environment) {
  const auto folder = open_trusted_folder(path, environment);
  if (folder) return can_make_something_in(path, path);
  if (!folder.error().absent) return fail(Error::Kind::io, folder.error().message);
  std::string parent = path;
  struct stat status {};
  do {
    const std::size_t slash = parent.rfind('/');
    parent = slash == std::string::npos ? "." : parent.substr(0, std::max<std::size_t>(slash, 1));
  } while (parent != "." && parent != "/" && lstat(parent.c_str(), &status) != 0 && errno == ENOENT);
  return can_make_something_in(parent, path);
}

// On one line: `gputopo show` is for people, and every program that loads hwloc reads this.
Expected<std::string> stored_text(const Topology& topology) {
  if (const auto checked = check(topology); !checked)
    return fail(checked.error().kind, "cannot save: " + checked.error().message);
  std::string text = to_json(topology).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  if (text.size() > size_limit_bytes)
    return fail(Error::Kind::bad_input,
                fmt::format("cannot save: {} bytes of JSON are over the store's limit of {}: leave out --all",
                            text.size(), size_limit_bytes));
  return text;
}

// What the file has already: nothing, something to add to, or something of no use any more.
Merged beside_stored(const Descriptor& folder, const std::string& name, const std::string& shown, const Topology& run,
                     const Environment& environment, bool force, std::vector<std::string>& remarks) {
  const auto text = read_trusted_file(folder, name, shown, environment);
  if (!text && text.error().absent) return {run, {}, true};
  const auto stored = text ? read_stored(*text, run.gpu.uuid, run.provenance.driver_version)
                           : fail(Error::Kind::io, text.error().message);
  if (stored) return merge(*stored, run, force);
  remarks.push_back(fmt::format("what was stored is replaced: {}", stored.error().message));
  return {run, {}, true};
}

Expected<Saved> save_into(const std::string& path, const Topology& run, const Environment& environment, bool force) {
  if (const auto made = make_folders(path); !made) return tl::unexpected<Error>(made.error());
  const auto folder = open_trusted_folder(path, environment);
  if (!folder) return fail(Error::Kind::io, folder.error().message);
  const std::string name = run.gpu.uuid + ".json";
  Saved saved{path + "/" + name, {}};
  const FolderLock lock(*folder);
  const Merged merged = beside_stored(*folder, name, saved.path, run, environment, force, saved.remarks);
  for (const Kept& kept : merged.kept)
    saved.remarks.push_back(fmt::format("{} stays as measured {}: {}; --force replaces it", kept.memory,
                                        kept.created.empty() ? "before" : "at " + kept.created, kept.reason));
  if (!merged.changed) return saved;
  const auto text = stored_text(merged.topology);
  if (!text) return tl::unexpected<Error>(text.error());
  if (const auto written = files::replace_in(*folder, name, *text, file_mode, saved.path); !written)
    return tl::unexpected<Error>(written.error());
  return saved;
}

Expected<void> may_be_kept(const Topology& run, bool force) {
  const auto refuse = [](Error::Kind kind, std::string_view why) {
    return fail(kind, fmt::format("cannot save: {}", why));
  };
  if (!is_uuid(run.gpu.uuid))
    return refuse(Error::Kind::bad_input,
                  fmt::format("'{}' is no GPU UUID: write the result to a file with -o instead", run.gpu.uuid));
  if (run.provenance.simulated)
    return refuse(Error::Kind::bad_input, "the GPU is simulated: write the result to a file with -o instead");
  const Grade grade = grade_of(run.provenance);
  if (force || grade == Grade::undisturbed) return {};
  if (grade == Grade::replayed)
    return refuse(Error::Kind::bad_input, "it is a replay: add --force to keep it all the same");
  return refuse(Error::Kind::unavailable, "others used the GPU meanwhile: add --force to keep this all the same");
}

}  // namespace

Expected<void> check_writable(const Environment& environment) {
  std::string reasons;
  for (const std::string& folder : folders(environment)) {
    const auto ok = can_save_into(folder, environment);
    if (ok) return {};
    reasons += (reasons.empty() ? "" : "; ") + ok.error().message;
  }
  return fail(Error::Kind::io, fmt::format("cannot save: {}: {}", reasons, remedy));
}

Expected<Saved> save(const Topology& run, const Environment& environment, bool force) {
  if (const auto ok = may_be_kept(run, force); !ok) return tl::unexpected<Error>(ok.error());
  if (const auto text = stored_text(run); !text) return tl::unexpected<Error>(text.error());
  std::string reasons;
  for (const std::string& folder : folders(environment)) {
    auto saved = save_into(folder, run, environment, force);
    if (!saved && saved.error().kind != Error::Kind::io) return saved;
    if (saved) {
      const Lookup found = load(run.gpu.uuid, run.provenance.driver_version, environment);
      if (found.topology && found.path != saved->path)
        saved->remarks.push_back(fmt::format("{} goes before {}", found.path, saved->path));
      return saved;
    }
    reasons += (reasons.empty() ? "" : "; ") + saved.error().message;
  }
  return fail(Error::Kind::io, fmt::format("cannot save: {}: {}", reasons, remedy));
}

}  // namespace gputopo::store
