// Topologies in files that the command line names.
#pragma once

#include <string>
#include <vector>

#include "cli/remarks.hpp"
#include "error/error.hpp"
#include "topology/evidence.hpp"
#include "topology/topology.hpp"

namespace gputopo::cli {

/// Topologies and, for each, the file that it came from.
struct FromFiles {
  std::vector<Topology> topologies;
  std::vector<std::string> files;
};

/// What `path` holds: a topology, or an array of them. Those without a checksum are read, and a remark says so.
/// `verb` says in an error what couldn't be done ("show"). Errors: `io`, `bad_input` for anything else, with the
/// remedy.
Expected<std::vector<Topology>> read_topology_file(const std::string& path, const std::string& verb, Remarks& remarks);

/// All topologies of all files, in order. `verb` says in an error what couldn't be done ("compare"). Errors: `io`,
/// `bad_input` for what isn't a topology (with the remedy) or makes no sense as a whole.
Expected<FromFiles> read_topology_files(const std::vector<std::string>& paths, const std::string& verb,
                                        Remarks& remarks);

/// What discover --evidence wrote. Errors: `io`, `bad_input` for anything else, with the remedy.
Expected<Evidence> read_evidence_file(const std::string& path);

}  // namespace gputopo::cli
