// The words for what the operating system refused. Internal to this folder.
#pragma once

#include <string>
#include <string_view>

#include "error/error.hpp"

namespace gputopo::files {

/// What an errno value says.
std::string reason(int error_number);
/// What a user can do about a failed write.
std::string_view remedy(int error_number);
tl::unexpected<Error> cannot_read(std::string_view path, int error_number);
tl::unexpected<Error> cannot_write(std::string_view path, int error_number);
/// The user asked to stop while `doing` ("reading 'x'").
tl::unexpected<Error> interrupted(std::string_view doing);

/// open(2), which waits where the path is a pipe that nobody has at its other end. Negative, with errno, where it
/// fails; EINTR only where the user asked to stop.
int open_waiting(const std::string& path, int flags);

}  // namespace gputopo::files
