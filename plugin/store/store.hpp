// Where measured topologies are kept: one JSON file a GPU, `<uuid>.json`, in the folders that environment.hpp lists.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/environment.hpp"
#include "topology/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::store {

/// Writes the topology under its GPU's UUID into the first of the store's folders that can be written, creating the
/// folder where needed, and returns the file's path. Readers see the old file or the new one, never a part.
/// Errors: `bad_input` for a topology without a UUID, or one that `load` would refuse; `io` where no folder can be
/// written (with the reason of each).
Expected<std::string> save(const Topology& topology, const Environment& environment);

/// What the store has for one GPU.
struct Lookup {
  std::optional<Topology> topology;
  std::string path;                   ///< the file it came from
  std::vector<std::string> refusals;  ///< why a file or folder that is there wasn't used, one line each
};

/// The stored topology of the GPU with this UUID under this driver version, from the first folder that has an
/// acceptable one. Never fails: whatever is wrong with a file only leaves its line in `refusals`.
Lookup load(std::string_view uuid, std::string_view driver_version, const Environment& environment);

/// Reads a topology from contents of a store's file: what `load` does after opening it. Errors: `bad_input`.
Expected<Topology> read_stored(std::string_view text, std::string_view uuid, std::string_view driver_version);

/// True for "GPU-" and up to 60 more letters, digits and hyphens: what may become a file name.
bool is_uuid(std::string_view uuid);

}  // namespace gputopo::store
