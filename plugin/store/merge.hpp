// A run's memories beside those that the store has of the same GPU under the same driver: parts add up, and what is
// known isn't lost to a run that found less.
#pragma once

#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace gputopo::store {

/// What a run was worth, the least first.
enum class Grade {
  replayed,     ///< answers of a recording
  shared,       ///< a real GPU that somebody else used meanwhile
  undisturbed,  ///< a real GPU, alone
};
Grade grade_of(const Provenance& run);

/// A memory that stays as it was stored although the run measured it too.
struct Kept {
  std::string memory;   ///< its id
  std::string created;  ///< when it was measured
  std::string reason;   ///< "this run has no latency"
};

struct Merged {
  Topology topology;
  std::vector<Kept> kept;
  bool changed = true;  ///< false where everything stays as it was stored
};

/// Puts the run's memories over the stored ones, whole memory by whole memory: each takes the other's place where the
/// run was of no lower grade and knows all that is known, or of a higher one, or where `replace` is set. The others of
/// the stored ones stay, with the date of their own run, whose provenance goes to `earlier_runs`. Pairs that share a
/// cache and the map of the chip are the run's as far as it decided them. Both must be of one GPU and driver.
Merged merge(const Topology& stored, const Topology& run, bool replace);

}  // namespace gputopo::store
