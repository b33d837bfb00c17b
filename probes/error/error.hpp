// What can go wrong at run time, as one line a user can act on.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace gputopo {

/// Why an operation failed. `message` is one line: what failed, why, and what to do about it.
struct Error {
  enum class Kind {
    bad_input,    ///< a file, flag or value that can't be used
    io,           ///< the operating system refused to read or write
    unavailable,  ///< no driver, no GPU, missing rights, a GPU that is in use
    device,       ///< the GPU (or its stand-in) failed while it worked
    interrupted,  ///< the user asked to stop
  };
  Kind kind = Kind::bad_input;
  std::string message;
};

template <class T>
using Expected = tl::expected<T, Error>;

/// Shorthand for the failing side of an Expected.
inline tl::unexpected<Error> fail(Error::Kind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message)});
}

}  // namespace gputopo
