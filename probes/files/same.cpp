// Whether two names stand for one file.
#include <optional>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "files/files.hpp"
#include "files/target.hpp"

namespace gputopo::files {
namespace {

std::optional<struct stat> status_of(const Named& named) {
  struct stat status {};
  const bool known =
      named.descriptor >= 0 ? ::fstat(named.descriptor, &status) == 0 : ::stat(named.path.c_str(), &status) == 0;
  return known ? std::optional(status) : std::nullopt;
}

// What goes to /dev/null meets nothing there.
bool is_null_device(const struct stat& status) {
  constexpr unsigned null_major = 1, null_minor = 3;
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(null_major, null_minor);
}

bool are_one(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// One name in one folder, whether or not there is anything of that name yet.
bool will_be_one(const std::string& first, const std::string& second) {
  const auto a = find_target(first);
  const auto b = find_target(second);
  struct stat folder_a {
  }, folder_b{};
  if (!a || !b || ::fstat(a->folder.get(), &folder_a) != 0 || ::fstat(b->folder.get(), &folder_b) != 0) return false;
  return are_one(folder_a, folder_b) && a->name == b->name;
}

}  // namespace

bool lead_to_one_file(const Named& first, const Named& second) {
  const auto a = status_of(first);
  const auto b = status_of(second);
  if ((a && is_null_device(*a)) || (b && is_null_device(*b))) return false;
  if (a && b && are_one(*a, *b)) return true;
  return first.descriptor < 0 && second.descriptor < 0 && will_be_one(first.path, second.path);
}

bool holds_data(const Named& named) {
  const auto status = status_of(named);
  return status && (S_ISREG(status->st_mode) || S_ISFIFO(status->st_mode));
}

}  // namespace gputopo::files
