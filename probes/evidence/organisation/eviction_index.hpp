// Which lines share a set of a cache whose sets were found by eviction: the index, held against lines all over the
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evidence/organisation/eviction_sets.hpp"

namespace gputopo::evidence {

struct EvictionIndex {
  std::string kind;               ///< "modulo", "xor" or "hash"; empty where undecided
  std::uint64_t sets = 0;         ///< where the index tells, else 0
  std::uint64_t consecutive = 1;  ///< neighbours that share a set, of all kinds but a hash
  std::string detail;             ///< what shows it, or why it is open
  std::uint64_t checks = 0;       ///< differences of lines that it rests on
};

/// `range` is what the size leaves for the number of sets. Errors are the session's.
Expected<EvictionIndex> index_of(Evictions& look, const std::vector<EvictionSet>& sets, const Interval& range);

}  // namespace gputopo::evidence
