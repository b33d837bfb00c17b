// Opening and reading a store's folder and files without trusting them.
//
// The reader runs inside MPI ranks and root's daemons, so what it opens mustn't block it, lead it elsewhere or be
// somebody else's: every check is made on the opened descriptor, and a file's owner and mode say who can have written
// it.
#pragma once

#include <cstddef>
#include <string>

#include "error/error.hpp"
#include "files/descriptor.hpp"
#include "store/environment.hpp"

namespace gputopo::store {

/// Largest file the store accepts, bytes.
inline constexpr std::size_t size_limit_bytes = std::size_t{1} << 20;

/// Whether something isn't there at all, or is there and refused.
struct Refusal {
  bool absent = false;
  std::string why;     ///< on one line
  std::string remedy;  ///< likewise
  std::string line() const { return why + "; " + remedy; }
};

using files::Descriptor;

template <class T>
using Trusted = tl::expected<T, Refusal>;

/// Opens a folder that is no symbolic link, belongs to somebody trusted and that only its owner can write.
Trusted<Descriptor> open_trusted_folder(const std::string& path, const Environment& environment);

/// The contents of `name` in an opened folder: a regular file, no symbolic link, of somebody trusted, that only its
/// owner can write, of at most size_limit_bytes. Never blocks, also not on a FIFO. `shown` names it in messages.
Trusted<std::string> read_trusted_file(const Descriptor& folder, const std::string& name, const std::string& shown,
                                       const Environment& environment);

}  // namespace gputopo::store
