#include "files/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "files/descriptor.hpp"
#include "files/errors.hpp"
#include "stop/stop.hpp"

namespace gputopo::files {

Expected<Descriptor> open_for_reading(const std::string& path) {
  Descriptor file(open_waiting(path, O_RDONLY));
  if (!file.is_open()) return cannot_read(path, errno);
  return file;
}

Expected<void> read_pieces(int descriptor, std::string_view name,
                           const std::function<Expected<void>(std::string_view)>& take) {
  std::vector<char> piece(std::size_t{1} << 16);
  while (true) {
    if (stop::requested) return cannot_read(name, EINTR);
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(name, errno);
    if (got == 0) return {};
    if (auto ok = take({piece.data(), static_cast<std::size_t>(got)}); !ok) return ok;
  }
}

namespace {

Expected<std::string> read_all(int descriptor, std::string_view name, std::size_t limit_bytes) {
  std::string text;
  const auto read = read_pieces(descriptor, name, [&](std::string_view piece) -> Expected<void> {
    text.append(piece);
    if (text.size() <= limit_bytes) return {};
    return fail(
        Error::Kind::bad_input,
        fmt::format("'{}' is over {} bytes, the limit of what is read here; name another file", name, limit_bytes));
  });
  if (!read) return tl::unexpected<Error>(read.error());
  return text;
}

}  // namespace

Expected<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  const auto file = open_for_reading(path);
  if (!file) return tl::unexpected<Error>(file.error());
  return read_all(file->get(), path, limit_bytes);
}

Expected<std::string> read_input(const std::string& path, std::size_t limit_bytes) {
  return path == "-" ? read_all(STDIN_FILENO, "standard input", limit_bytes) : read_file(path, limit_bytes);
}

Expected<void> write_all(int descriptor, std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR && stop::requested) return interrupted(fmt::format("writing {}", name));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return fail(Error::Kind::io, fmt::format("can't write {}: {}; {}", name, reason(errno), remedy(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace gputopo::files
