// From lines that collide to the function that gives a line its set: the line's number modulo the sets (address bits
// where these are a power of two), an XOR of address bits, or neither.
#pragma once

#include <cstdint>
#include <string>

#include "evidence/organisation/collisions.hpp"

namespace gputopo::evidence {

struct IndexFunction {
  enum class Kind {
    none,          ///< one set: any line may lie anywhere
    modulo,        ///< of the line's number, or of that of a group of neighbours
    exclusive_or,  ///< linear over the address's bits, several to a bit of the index
    hash,          ///< neither: which lines collide isn't given by address bits
    unknown,
  };
  Kind kind = Kind::unknown;
  std::uint32_t consecutive_lines = 1;  ///< that many neighbours lie in one set; 0: a hash leaves it open
  std::uint64_t checks = 0;             ///< lines that it could have got wrong
  std::string detail;                   ///< one clause for the reader
};

std::string_view to_string(IndexFunction::Kind kind);

/// `sets` sets of `ways` ways each (0: of different ways), lines of `line_bytes`. A kind is named where it predicts
/// what every circle lost, `hash` where each of the others was wrong more often than not.
IndexFunction index_function(const Collisions& seen, std::uint64_t sets, std::uint64_t ways, std::uint64_t line_bytes);

}  // namespace gputopo::evidence
