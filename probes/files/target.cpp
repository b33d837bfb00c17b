#include "files/target.hpp"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "files/errors.hpp"

namespace gputopo::files {
namespace {

constexpr int most_links = 40;  // as the kernel's

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

bool is_one(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Whether this is somebody's whom the caller needn't trust.
bool is_a_strangers(const struct stat& thing) {
  return thing.st_uid != ::geteuid() && thing.st_uid != 0;
}

// Whether one who doesn't own the folder can have put it there. Who owns it may have a pipe in it that others write to.
bool is_a_guests(const struct stat& thing, const struct stat& folder) {
  const bool shared = (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return shared && is_a_strangers(thing) && thing.st_uid != folder.st_uid;
}

tl::unexpected<Error> a_strangers(const std::string& path, std::string_view what, const struct stat& thing) {
  return fail(Error::Kind::io,
              fmt::format("can't write '{}': it is a {} of user {}'s; choose another file", path, what, thing.st_uid));
}

// What a symbolic link leads to. Empty for the links of open descriptors in /proc, which are no paths.
Expected<std::string> follow(const std::string& link, const std::string& path) {
  const Descriptor opened(::open(link.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!opened.is_open() || ::fstat(opened.get(), &status) != 0) return cannot_write(path, errno);
  if (!S_ISLNK(status.st_mode)) return cannot_write(path, EAGAIN);
  if (is_a_strangers(status)) return a_strangers(path, "symbolic link", status);
  std::string text(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(opened.get(), "", text.data(), text.size());
  if (length < 0) return cannot_write(path, errno);
  text.resize(static_cast<std::size_t>(length));
  if (text.empty() || text.front() != '/') text = folder_of(link) + '/' + text;
  struct stat behind {
  }, there{};
  const bool leads_there =
      ::stat(link.c_str(), &behind) != 0 || (::stat(text.c_str(), &there) == 0 && is_one(behind, there));
  return leads_there ? text : std::string();
}

}  // namespace

Expected<Target> find_target(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < most_links; ++links) {
    Target target{at,
                  Descriptor(::open(folder_of(at).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
                  std::filesystem::path(at).filename().string(),
                  {},
                  false};
    struct stat folder {
    }, status{};
    if (!target.folder.is_open() || ::fstat(target.folder.get(), &folder) != 0) return cannot_write(path, errno);
    if (target.name.empty() || target.name == "." || target.name == "..") return cannot_write(path, EISDIR);
    if (::lstat(at.c_str(), &status) != 0) {
      if (errno != ENOENT) return cannot_write(path, errno);
      return target;
    }
    if (S_ISLNK(status.st_mode)) {
      auto next = follow(at, path);
      if (!next) return tl::unexpected<Error>(next.error());
      if (!next->empty()) {
        at = std::move(*next);
        continue;
      }
      if (::stat(at.c_str(), &status) != 0) return cannot_write(path, errno);
      target.is_special = true;
    }
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    target.status = status;
    target.is_special = target.is_special || !S_ISREG(status.st_mode);
    if (target.is_special && is_a_guests(status, folder)) return a_strangers(path, "pipe or device", status);
    return target;
  }
  return cannot_write(path, ELOOP);
}

}  // namespace gputopo::files
