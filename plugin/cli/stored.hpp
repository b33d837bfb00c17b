// The topologies that `show` prints when it is given no file.
#pragma once

#include <vector>

#include "cli/remarks.hpp"
#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::cli {

struct StoredGpus {
  std::vector<Topology> topologies;
  std::vector<unsigned> numbers;   ///< of each, in PCI order; empty where headings need none
  std::vector<std::string> files;  ///< that they were read from
};

/// The simulated GPUs of $GPUTOPO_SIMULATE where that is set, else what the store has for this machine's GPUs, in PCI
/// order; a remark for each that it has nothing for, and why. `verb` says in an error what couldn't be
/// done ("show"). `unavailable` where that is all of them.
Expected<StoredGpus> stored_topologies(const std::string& verb, Remarks& remarks);

}  // namespace gputopo::cli
