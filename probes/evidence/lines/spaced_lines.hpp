// Capacity and ways from lines a power of two apart, walked round and round. They share few sets, and in order (LRU,
// FIFO) an overfull set loses all of its lines: of one line too many as many go as a set has ways and one more, of two
// too many twice that, until all sets have lost theirs. A walk's own code is in a few sets, and rows in others are as
// if there were none, where neighbouring lines go to all of them (Wong et al. 2010, 'stride'; docs/measuring.md).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// So many lines of a row, walked for some rounds.
struct RowLook {
  std::uint64_t lines = 0;
  double told = 0;    ///< lines a round that no cache in front answered
  double missed = 0;  ///< of these, a round
};

/// Lines `apart` blocks from each other from block `first` on: more and more of them, one more in each look.
struct SpacedRow {
  std::uint64_t apart = 0, first = 0;
  std::vector<RowLook> looks;
};

/// All rows of one distance.
struct SpacedRows {
  std::uint64_t apart = 0;
  std::vector<SpacedRow> rows;
};

/// What a row says whose sets hold nothing else.
struct SpacedFit {
  std::uint64_t lines = 0;  ///< of the row, that fit
  std::uint64_t sets = 0;   ///< that it goes to
  std::uint64_t ways() const { return lines / sets; }
  friend bool operator==(const SpacedFit&, const SpacedFit&) = default;
};

/// As exactly as the misses of each look say, to half a line a round; nothing where they don't say that all along.
std::optional<SpacedFit> fit_of_row(const SpacedRow& row);

struct SpacedCapacity {
  std::uint64_t blocks = 0;  ///< held of neighbouring ones
  std::uint64_t ways = 0;
  std::uint64_t period = 0;  ///< blocks after which the sets begin anew
  std::uint64_t rows = 0;    ///< that say so
};

/// What several rows of one distance say exactly, of which none holds more, and where rows of half that distance go to
/// twice as many sets: an index that isn't made of address bits doesn't come through.
std::optional<SpacedCapacity> capacity_of_rows(const SpacedRows& rows, const SpacedRows& half_as_far);

/// Walks rows of a cache that holds as many `bytes`, lines far apart first, until they say how many; lines are
/// `block_bytes` apart at least. Nothing where they don't. Errors are the session's.
Expected<std::optional<SpacedCapacity>> find_spaced_capacity(Session& session, const CacheFacts& cache,
                                                             std::uint64_t block_bytes, const Interval& bytes,
                                                             Scope isolation);

}  // namespace gputopo::evidence
