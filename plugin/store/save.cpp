#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

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

// Why something can't be saved into one folder, and what to do where the reason doesn't say so itself.
struct Unsaved {
  Error::Kind kind = Error::Kind::io;
  std::string why;
  std::string remedy;
};

template <class T>
using Tried = tl::expected<T, Unsaved>;

tl::unexpected<Unsaved> cannot(std::string_view what, const std::string& path, int error) {
  return tl::unexpected<Unsaved>({Error::Kind::io,
                                  fmt::format("can't {} {}: {}", what, path, std::generic_category().message(error)),
                                  "set GPUTOPO_STORE to a folder of your own"});
}

tl::unexpected<Unsaved> as_unsaved(const Refusal& refusal) {
  return tl::unexpected<Unsaved>({Error::Kind::io, refusal.why, refusal.remedy});
}

tl::unexpected<Unsaved> as_unsaved(const Error& error) {
  return tl::unexpected<Unsaved>({error.kind, error.message, {}});
}

// The reasons of all folders, and one remedy: that of the last, which is the user's own.
tl::unexpected<Error> nowhere(const std::vector<Unsaved>& tried) {
  std::string text = "can't save";
  for (const Unsaved& one : tried) text += (&one == tried.data() ? ": " : "; ") + one.why;
  if (!tried.empty() && !tried.back().remedy.empty()) text += "; " + tried.back().remedy;
  return fail(Error::Kind::io, std::move(text));
}

// Creates what is missing of a path. Whether the result may be used is open_trusted_folder's business.
Tried<void> make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), folder_mode) != 0 && errno != EEXIST) return cannot("create", part, errno);
    if (end == std::string::npos) return {};
  }
}

// Something of an unpredictable name is made there and removed at once: rights alone don't tell of a file system that
// is read-only, full or none of that kind. What isn't there yet isn't made, so that two who ask at once don't meet.
Tried<void> can_make_something_in(const std::string& folder, const std::string& shown) {
  std::string name = folder + "/.gputopo-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return cannot("write to", shown, errno);
  rmdir(name.c_str());
  return {};
}

// The folder itself, or where it isn't there yet the one that it would be made in.
Tried<void> can_save_into(const std::string& path, const Environment& environment) {
  const auto folder = open_trusted_folder(path, environment);
  if (folder) return can_make_something_in(path, path);
  if (!folder.error().absent) return as_unsaved(folder.error());
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
    return fail(checked.error().kind, "can't save: " + checked.error().message);
  std::string text = to_json(topology).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  if (text.size() > size_limit_bytes)
    return fail(Error::Kind::bad_input,
                fmt::format("can't save: {} bytes of JSON are over the store's limit of {}; leave out --deep",
                            text.size(), size_limit_bytes));
  return text;
}

// The run with what the file has already: nothing, something to add to, or something of no use any more.
struct Beside {
  Merged merged;
  std::string refused;   ///< why what is stored can't be read, and is to be kept aside
  std::string outdated;  ///< why it is of no use to anybody
};

Beside beside_stored(const Descriptor& folder, const std::string& name, const std::string& shown, const Topology& run,
                     const Environment& environment, bool force) {
  Beside alone{{run, {}, true}, {}, {}};
  const auto text = read_trusted_file(folder, name, shown, environment);
  if (!text) {
    if (!text.error().absent) alone.refused = text.error().why;
    return alone;
  }
  const auto stored = read_stored(*text, run.gpu.uuid, run.provenance.driver_version);
  if (stored) return {merge(*stored, run, force), {}, {}};
  (stored.error().kind == Error::Kind::unavailable ? alone.outdated : alone.refused) = stored.error().message;
  return alone;
}

// A free name beside it. The folder is its owner's alone, and locked.
std::string name_aside(const Descriptor& folder, const std::string& name) {
  constexpr int most = 99;
  struct stat status {};
  for (int n = 1; n <= most; ++n) {
    std::string aside = name + ".refused" + (n == 1 ? "" : fmt::format(".{}", n));
    if (fstatat(folder.get(), aside.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) return aside;
  }
  return {};
}

// Puts `text` in the place of what can't be read, which gets another name, be it a link, a pipe or a folder.
Tried<std::string> replace_refused(const Descriptor& folder, const std::string& name, std::string_view text,
                                   const std::string& shown) {
  const std::string aside = name_aside(folder, name);
  if (aside.empty())
    return tl::unexpected<Unsaved>({Error::Kind::io, fmt::format("there are 99 refused files beside {} already", shown),
                                    fmt::format("remove {}.refused*", shown)});
  const auto rename = [&folder](const std::string& from, const std::string& to) {
    return renameat(folder.get(), from.c_str(), folder.get(), to.c_str()) == 0;
  };
  if (!rename(name, aside)) return cannot("rename", shown, errno);
  if (const auto written = files::replace_in(folder, name, text, file_mode, shown); !written) {
    rename(aside, name);
    return as_unsaved(written.error());
  }
  return aside;
}

Tried<Saved> save_into(const std::string& path, const Topology& run, const Environment& environment, bool force) {
  if (const auto made = make_folders(path); !made) return tl::unexpected<Unsaved>(made.error());
  const auto folder = open_trusted_folder(path, environment);
  if (!folder) return as_unsaved(folder.error());
  const std::string name = run.gpu.uuid + ".json";
  Saved saved{path + "/" + name, {}};
  const FolderLock lock(*folder);
  const Beside found = beside_stored(*folder, name, saved.path, run, environment, force);
  for (const Kept& kept : found.merged.kept)
    saved.remarks.push_back(fmt::format("{} stays as measured {}: {}; --force replaces it", kept.memory,
                                        kept.created.empty() ? "before" : "at " + kept.created, kept.reason));
  if (!found.merged.changed) return saved;
  const auto text = stored_text(found.merged.topology);
  if (!text) return as_unsaved(text.error());
  if (!found.refused.empty()) {
    const auto aside = replace_refused(*folder, name, *text, saved.path);
    if (!aside) return tl::unexpected<Unsaved>(aside.error());
    saved.remarks.push_back(
        fmt::format("what was stored is now {}/{}, since it was refused: {}", path, *aside, found.refused));
    return saved;
  }
  if (const auto written = files::replace_in(*folder, name, *text, file_mode, saved.path); !written)
    return as_unsaved(written.error());
  if (!found.outdated.empty()) saved.remarks.push_back(fmt::format("what was stored is replaced: {}", found.outdated));
  return saved;
}

Expected<void> may_be_kept(const Topology& run, bool force) {
  const auto refuse = [](Error::Kind kind, std::string_view why) {
    return fail(kind, fmt::format("can't save: {}", why));
  };
  if (!is_uuid(run.gpu.uuid))
    return refuse(Error::Kind::bad_input,
                  fmt::format("'{}' is no GPU UUID; write the result to a file by -o", run.gpu.uuid));
  if (run.provenance.simulated)
    return refuse(Error::Kind::bad_input, "the GPU is simulated; write the result to a file by -o");
  const Grade grade = grade_of(run.provenance);
  if (force || grade == Grade::undisturbed) return {};
  if (grade == Grade::replayed)
    return refuse(Error::Kind::bad_input, "it is a replay; add --force to keep it all the same");
  return refuse(Error::Kind::unavailable, "others used the GPU meanwhile; add --force to keep this all the same");
}

}  // namespace

Expected<void> check_writable(const Environment& environment) {
  std::vector<Unsaved> tried;
  for (const std::string& folder : folders(environment)) {
    auto ok = can_save_into(folder, environment);
    if (ok) return {};
    tried.push_back(std::move(ok.error()));
  }
  return nowhere(tried);
}

Expected<Saved> save(const Topology& run, const Environment& environment, bool force) {
  if (const auto ok = may_be_kept(run, force); !ok) return tl::unexpected<Error>(ok.error());
  if (const auto text = stored_text(run); !text) return tl::unexpected<Error>(text.error());
  std::vector<Unsaved> tried;
  for (const std::string& folder : folders(environment)) {
    auto saved = save_into(folder, run, environment, force);
    if (saved) {
      const Lookup found = load(run.gpu.uuid, run.provenance.driver_version, environment);
      if (found.topology && found.path != saved->path)
        saved->remarks.push_back(fmt::format("{} goes before {}", found.path, saved->path));
      return std::move(*saved);
    }
    if (saved.error().kind != Error::Kind::io) return fail(saved.error().kind, saved.error().why);
    tried.push_back(std::move(saved.error()));
  }
  return nowhere(tried);
}

}  // namespace gputopo::store
