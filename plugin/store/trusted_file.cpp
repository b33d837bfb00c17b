#include "store/trusted_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

namespace gputopo::store {
namespace {

constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;

std::string why(int error) {
  return std::generic_category().message(error);
}

tl::unexpected<Refusal> refuse(std::string reason, std::string remedy) {
  return tl::unexpected<Refusal>(Refusal{false, std::move(reason), std::move(remedy)});
}

tl::unexpected<Refusal> cannot_open(const std::string& shown, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  return tl::unexpected<Refusal>(
      Refusal{absent, fmt::format("can't open {}: {}", shown, why(error)), "check its permissions"});
}

// Nothing where owner and mode are all right.
std::optional<Refusal> objection(const struct stat& status, const std::string& shown, const Environment& environment) {
  if (!trusts_owner(environment, status.st_uid))
    return Refusal{false,
                   fmt::format("{} belongs to user {}: only what is root's{} is read", shown, status.st_uid,
                               environment.elevated ? "" : " or the user's who runs this"),
                   "remove it"};
  if ((status.st_mode & writable_by_others) != 0)
    return Refusal{false, fmt::format("{} is writable by others (mode {:04o})", shown, status.st_mode & 07777),
                   "run chmod go-w on it"};
  return std::nullopt;
}

// "link/" and "link/." are the folder that a link leads to: their last component isn't the link.
std::string without_trailing_dots_and_slashes(std::string path) {
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) path.pop_back();
  return path;
}

// A buffer of the limit's size would cost more than all the rest: the kernel clears each of its pages.
Trusted<std::string> read_all(const Descriptor& file, std::size_t size_bytes, const std::string& shown) {
  std::string text(size_bytes + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(file.get(), text.data() + length, text.size() - length);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(fmt::format("can't read {}: {}", shown, why(errno)), "check its disk");
    length += static_cast<std::size_t>(got);
  }
  if (length != size_bytes) return refuse(fmt::format("{} changed while it was read", shown), "try again");
  text.resize(length);
  return text;
}

}  // namespace

Trusted<Descriptor> open_trusted_folder(const std::string& path, const Environment& environment) {
  const std::string plain = without_trailing_dots_and_slashes(path);  // O_NOFOLLOW speaks of the last component
  Descriptor folder(open(plain.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!folder.is_open()) {
    struct stat link {};
    const int error = errno;
    if ((error != ELOOP && error != ENOTDIR) || lstat(plain.c_str(), &link) != 0) return cannot_open(plain, error);
    if (S_ISLNK(link.st_mode))
      return refuse(fmt::format("{} is a symbolic link: the store must be a folder itself", plain),
                    "set GPUTOPO_STORE to the folder that it leads to");
    return refuse(fmt::format("{} is not a folder", plain), "set GPUTOPO_STORE to a folder");
  }
  struct stat status {};
  if (fstat(folder.get(), &status) != 0)
    return refuse(fmt::format("can't examine {}: {}", plain, why(errno)), "check its disk");
  if (auto refusal = objection(status, plain, environment)) return tl::unexpected<Refusal>(std::move(*refusal));
  return folder;
}

Trusted<std::string> read_trusted_file(const Descriptor& folder, const std::string& name, const std::string& shown,
                                       const Environment& environment) {
  const auto not_regular = [&] { return refuse(fmt::format("{} is not a regular file", shown), "remove it"); };
  struct stat status {};
  // Opening a device can do something to it, so look before opening; the checks that count come after.
  if (fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return cannot_open(shown, errno);
  if (!S_ISREG(status.st_mode)) return not_regular();
  const Descriptor file(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) return errno == ELOOP ? not_regular() : cannot_open(shown, errno);
  if (fstat(file.get(), &status) != 0)
    return refuse(fmt::format("can't examine {}: {}", shown, why(errno)), "check its disk");
  if (!S_ISREG(status.st_mode)) return not_regular();
  if (auto refusal = objection(status, shown, environment)) return tl::unexpected<Refusal>(std::move(*refusal));
  if (status.st_size > static_cast<off_t>(size_limit_bytes))
    return refuse(fmt::format("{} is over {} bytes", shown, size_limit_bytes), "remove it");
  return read_all(file, static_cast<std::size_t>(status.st_size), shown);
}

}  // namespace gputopo::store
