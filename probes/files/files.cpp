#include "files/files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace gputopo::files {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // Some file systems report a full disk only here.
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

std::string_view remedy(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return "create the folder first or choose another one";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder you may write to";
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another file system";
    case EBADF:
      return "it is closed: open it or name a file";
    case EPIPE:
      return "whatever was reading it ended early";
    default:
      return "choose another file";
  }
}

tl::unexpected<Error> cannot_write(std::string_view path, int error_number) {
  return fail(Error::Kind::io,
              fmt::format("can't write '{}': {}; {}", path, reason(error_number), remedy(error_number)));
}

// Follows symbolic links, so that the file behind a link is replaced and not the link.
std::string resolved(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// A name beside `path` that no other process uses at the same time.
std::string temporary_name(const std::string& path) {
  const std::filesystem::path p(path);
  return (p.parent_path() / fmt::format(".{}.{}.tmp", p.filename().string(), ::getpid())).string();
}

Expected<void> write_special(const std::string& path, std::string_view text) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) return cannot_write(path, errno);
  if (auto ok = write_all(file.get(), text, fmt::format("'{}'", path)); !ok) return ok;
  if (!file.close()) return cannot_write(path, errno);
  return {};
}

Expected<void> write_temporary(const std::string& temporary, const std::string& path, std::string_view text,
                               const struct stat* old) {
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file.is_open()) return cannot_write(path, errno);
  if (old != nullptr && ::fchmod(file.get(), old->st_mode & 07777U) != 0) return cannot_write(path, errno);
  if (auto ok = write_all(file.get(), text, fmt::format("'{}'", path)); !ok) return ok;
  if (::fsync(file.get()) != 0) return cannot_write(path, errno);
  if (!file.close()) return cannot_write(path, errno);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return cannot_write(path, errno);
  return {};
}

}  // namespace

Expected<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  const auto cannot_read = [&](int error_number) {
    return fail(Error::Kind::io,
                fmt::format("can't read '{}': {}; check the name and its permissions", path, reason(error_number)));
  };
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) return cannot_read(errno);
  std::string text;
  std::array<char, 65536> chunk{};
  while (true) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(errno);
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > limit_bytes)
      return fail(Error::Kind::bad_input,
                  fmt::format("'{}' is larger than {} bytes; no file of this kind is that large", path, limit_bytes));
  }
}

Expected<void> check_writable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    if (!S_ISREG(status.st_mode))
      return ::access(path.c_str(), W_OK) == 0 ? Expected<void>{} : cannot_write(path, errno);
  }
  const std::string folder = folder_of(resolved(path));
  if (::stat(folder.c_str(), &status) != 0) return cannot_write(path, errno);
  if (!S_ISDIR(status.st_mode)) return cannot_write(path, ENOTDIR);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(path, errno);
  return {};
}

Expected<void> write_atomically(const std::string& path, std::string_view text) {
  const std::string target = resolved(path);
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) return write_special(target, text);
  const std::string temporary = temporary_name(target);
  auto written = write_temporary(temporary, target, text, exists ? &status : nullptr);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

Expected<void> write_all(int descriptor, std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return fail(Error::Kind::io, fmt::format("can't write {}: {}; {}", name, reason(errno), remedy(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace gputopo::files
