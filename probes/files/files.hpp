// Reading and writing whole files so that nobody ever sees half of one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "error/error.hpp"
#include "files/descriptor.hpp"

namespace gputopo::files {

/// Opens a file, or a pipe once somebody writes to it. Errors: `io`, or `interrupted` where the user asked to stop.
Expected<Descriptor> open_for_reading(const std::string& path);

/// Reads to the end and hands on what comes, piece by piece, until `take` fails. `name` stands for the descriptor in
/// messages. Errors: `io`, that of `take`, or `interrupted` where the user asked to stop.
Expected<void> read_pieces(int descriptor, std::string_view name,
                           const std::function<Expected<void>(std::string_view)>& take);

/// Reads a whole file of at most `limit_bytes`. Errors: `io` where it can't be opened or read, `bad_input` where it is
/// a directory or larger than the limit, `interrupted`. Pipes and other special files are read to their end or the
/// limit.
Expected<std::string> read_file(const std::string& path, std::size_t limit_bytes);

/// The same of what a user named, where "-" is standard input.
Expected<std::string> read_input(const std::string& path, std::size_t limit_bytes);

/// Whether `write_atomically(path, ...)` has a chance: the folder exists and can be written to, and `path` is no
/// folder. Asked before long work whose result goes there. Error: `io`.
Expected<void> check_writable(const std::string& path);

/// A file that a user named, or one that is open already.
struct Named {
  std::string path;
  int descriptor = -1;  ///< where that isn't negative it counts, and the path doesn't
};

/// Whether what is written to the one would overwrite, or end up within, what the other holds or is to hold: one file,
/// pipe or device, or one name that isn't there yet. False for /dev/null, which holds nothing.
bool lead_to_one_file(const Named& first, const Named& second);

/// Whether there is a file or pipe, whose contents a writer would destroy or feed; a terminal, say, is neither.
bool holds_data(const Named& named);

/// Replaces `path` by `text`, as replace_in does. The mode of an existing file of the caller's is kept and symbolic
/// links are followed, also to what isn't there yet. A device, pipe or other special file can't be replaced and is
/// written to directly. A stranger's link is refused, and in a shared folder his pipes and devices. Error: `io`.
Expected<void> write_atomically(const std::string& path, std::string_view text);

/// Replaces the file `name` of an opened folder by `text`: written to a new file there whose name nobody can guess,
/// synced and renamed, so that `name` holds the old contents or the new ones at any moment. `mode`: the new file's;
/// else what the umask leaves. `shown` stands for the file in the message. Error: `io`; nothing is left behind.
Expected<void> replace_in(const Descriptor& folder, const std::string& name, std::string_view text,
                          std::optional<mode_t> mode, std::string_view shown);

/// Writes all of `text` to an open descriptor. `name` stands for it in the message. Errors: `io`, or `interrupted`
/// where it had to wait and the user asked to stop.
Expected<void> write_all(int descriptor, std::string_view text, std::string_view name);

}  // namespace gputopo::files
