// What this process may be told from outside, and where its store therefore lies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gputopo::store {

/// The system's store: written by root, read by all.
inline constexpr const char* system_folder = GPUTOPO_SYSTEM_STORE;

/// Everything about the process that the store's rules look at. Tests fill it by hand.
struct Environment {
  /// The process has more rights than whoever started it: a set-user-id or file-capability program, or real, effective
  /// and saved ids that differ (a root daemon acting for a user). Then no variable is obeyed, only the system's folder
  /// is read, and only root's files in it are accepted. A process that is root throughout isn't elevated in this
  /// sense, its environment being root's; it accepts root's files only, as its own user is root.
  bool elevated = false;
  uid_t user = 0;                             ///< effective user id
  std::optional<std::string> store;           ///< $GPUTOPO_STORE
  std::optional<std::string> xdg_cache_home;  ///< $XDG_CACHE_HOME
  std::optional<std::string> home;            ///< $HOME
  std::optional<std::string> simulate;        ///< $GPUTOPO_SIMULATE
  bool verbose = false;                       ///< $HWLOC_COMPONENTS_VERBOSE is a number other than 0
  bool annotate_any_topology = false;         ///< $HWLOC_ANNOTATE_GLOBAL_COMPONENTS is a number other than 0
  std::string system = system_folder;
};

/// Of this process. Variables are absent where they are unset, empty or not to be obeyed.
Environment process_environment();

/// The simulated GPUs that $GPUTOPO_SIMULATE names, between commas, in order; none where it isn't set.
std::vector<std::string> simulated_names(const Environment& environment);

/// Folders in the order they are searched (and tried for writing): $GPUTOPO_STORE alone where set, else the system's,
/// then $XDG_CACHE_HOME/gputopo or ~/.cache/gputopo (relative paths in those two are ignored, as the XDG Base
/// Directory Specification asks).
std::vector<std::string> folders(const Environment& environment);

/// True where a file or folder of this owner may be believed: root's, and the user's own unless elevated.
bool trusts_owner(const Environment& environment, uid_t owner);

}  // namespace gputopo::store
