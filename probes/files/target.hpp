// Where a path that a user named leads: the file to replace, or the pipe or device to write to. Internal to this
// folder.
#pragma once

#include <optional>
#include <string>

#include <sys/stat.h>

#include "error/error.hpp"
#include "files/descriptor.hpp"

namespace gputopo::files {

struct Target {
  std::string path;                   ///< behind all symbolic links
  Descriptor folder;                  ///< that holds it
  std::string name;                   ///< in that folder
  std::optional<struct stat> status;  ///< of what is there already
  bool is_special = false;            ///< a pipe, a device, an open descriptor: written to, never replaced
};

/// Follows symbolic links to the last. In a folder that others may write to, only those that the caller, root or the
/// folder's owner made are followed, and of pipes and devices only theirs are taken: anybody could have put the others
/// there to catch what is written (the kernel's fs.protected_symlinks and fs.protected_fifos, whether they are on or
/// not). Errors: `io`, also for a folder.
Expected<Target> find_target(const std::string& path);

}  // namespace gputopo::files
