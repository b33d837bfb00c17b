// Reading and writing whole files so that nobody ever sees half of one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "topology/error.hpp"

namespace gputopo::files {

/// Reads a whole file of at most `limit_bytes`. Errors: `io` where it can't be opened or read, `bad_input` where it is
/// a directory or larger than the limit. Pipes and other special files are read to their end or the limit.
Expected<std::string> read_file(const std::string& path, std::size_t limit_bytes);

/// Whether `write_atomically(path, ...)` has a chance: the folder exists and can be written to, and `path` is no
/// folder. Asked before long work whose result goes there. Error: `io`.
Expected<void> check_writable(const std::string& path);

/// Replaces `path` by `text`: written to a new file in the same folder, synced and renamed, so that `path` holds the
/// old contents or the new ones at any moment. The mode of an existing file is kept and a symbolic link is followed.
/// A device, pipe or other special file can't be replaced and is written to directly. Error: `io`; nothing is left
/// behind.
Expected<void> write_atomically(const std::string& path, std::string_view text);

/// Writes all of `text` to an open descriptor. `name` stands for it in the message. Error: `io`.
Expected<void> write_all(int descriptor, std::string_view text, std::string_view name);

}  // namespace gputopo::files
