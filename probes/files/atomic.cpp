// The one way in which this project replaces a file.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "files/errors.hpp"
#include "files/files.hpp"
#include "files/target.hpp"

namespace gputopo::files {
namespace {

// Of fixed length, so that it fits wherever the file's own name does, and nobody can have prepared it.
std::string temporary_name() {
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != sizeof random) return {};
  return fmt::format(".gputopo-{:016x}{:016x}.tmp", random[0], random[1]);
}

Expected<void> fill(Descriptor& file, std::string_view text, std::optional<mode_t> mode, std::string_view shown) {
  if (mode && ::fchmod(file.get(), *mode) != 0) return cannot_write(shown, errno);
  if (auto ok = write_all(file.get(), text, fmt::format("'{}'", shown)); !ok) return ok;
  // On the disk before it takes the name, so that a crash leaves the old file or the whole new one.
  if (::fsync(file.get()) != 0 || !file.close()) return cannot_write(shown, errno);
  return {};
}

Expected<void> write_special(const Target& target, std::string_view text, const std::string& path) {
  Descriptor file(open_waiting(target.path, O_WRONLY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return cannot_write(path, errno);
  if (status.st_dev != target.status->st_dev || status.st_ino != target.status->st_ino)
    return cannot_write(path, ESTALE);  // exchanged while it was looked at
  if (auto ok = write_all(file.get(), text, fmt::format("'{}'", path)); !ok) return ok;
  if (!file.close()) return cannot_write(path, errno);
  return {};
}

// The permissions of the file that is replaced; those of a stranger's file are none of ours.
std::optional<mode_t> mode_to_keep(const Target& target) {
  if (!target.status || target.status->st_uid != ::geteuid()) return std::nullopt;
  return target.status->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

}  // namespace

Expected<void> check_writable(const std::string& path) {
  const auto target = find_target(path);
  if (!target) return tl::unexpected<Error>(target.error());
  const bool allowed = target->is_special ? ::access(target->path.c_str(), W_OK) == 0
                                          : ::faccessat(target->folder.get(), ".", W_OK | X_OK, 0) == 0;
  if (!allowed) return cannot_write(path, errno);
  return {};
}

Expected<void> write_atomically(const std::string& path, std::string_view text) {
  const auto target = find_target(path);
  if (!target) return tl::unexpected<Error>(target.error());
  if (target->is_special) return write_special(*target, text, path);
  return replace_in(target->folder, target->name, text, mode_to_keep(*target), path);
}

Expected<void> replace_in(const Descriptor& folder, const std::string& name, std::string_view text,
                          std::optional<mode_t> mode, std::string_view shown) {
  constexpr mode_t for_everybody = 0666;  // less the umask
  const std::string temporary = temporary_name();
  Descriptor file(::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode.value_or(for_everybody)));
  if (!file.is_open()) return cannot_write(shown, errno);
  auto written = fill(file, text, mode, shown);
  if (written && ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0)
    written = cannot_write(shown, errno);
  if (!written) ::unlinkat(folder.get(), temporary.c_str(), 0);
  return written;
}

}  // namespace gputopo::files
