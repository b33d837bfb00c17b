#include "files/errors.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>

#include <fmt/format.h>

#include "stop/stop.hpp"

namespace gputopo::files {

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
      return "free some space";
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f)";
    case EBADF:
      return "it is closed: open it or name a file";
    case EPIPE:
      return "whatever was reading it ended early";
    default:
      return "choose another file";
  }
}

tl::unexpected<Error> cannot_read(std::string_view path, int error_number) {
  if (error_number == EINTR) return interrupted(fmt::format("reading '{}'", path));
  return fail(Error::Kind::io,
              fmt::format("can't read '{}': {}; check the name and its permissions", path, reason(error_number)));
}

tl::unexpected<Error> cannot_write(std::string_view path, int error_number) {
  if (error_number == EINTR) return interrupted(fmt::format("writing '{}'", path));
  return fail(Error::Kind::io,
              fmt::format("can't write '{}': {}; {}", path, reason(error_number), remedy(error_number)));
}

tl::unexpected<Error> interrupted(std::string_view doing) {
  return fail(Error::Kind::interrupted, fmt::format("interrupted while {}", doing));
}

int open_waiting(const std::string& path, int flags) {
  while (true) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY);
    if (descriptor >= 0 || errno != EINTR || stop::requested) return descriptor;
  }
}

}  // namespace gputopo::files
