// Where measured topologies are kept: one JSON file a GPU, `<uuid>.json`, in the folders that environment.hpp lists.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "error/error.hpp"
#include "store/environment.hpp"
#include "topology/topology.hpp"

namespace gputopo::store {

/// Whether `save` has a folder to write to, asked before a measurement whose result goes there. Leaves nothing there.
/// Error: `io`, with the reason of each folder.
Expected<void> check_writable(const Environment& environment);

struct Saved {
  std::string path;
  std::vector<std::string> remarks;  ///< one line each: what stays as it was stored, what was moved aside, and why
};

/// Puts a run's memories under its GPU's UUID into the first of the store's folders that can be written, creating the
/// folder where needed, beside what that file has of the same GPU under the same driver (merge.hpp). A file
/// that `load` refuses may be worth mending: it is moved aside, to the same name with ".refused" behind, but for one of
/// another driver, which is replaced. Readers see the
/// old file or the new one, never a part; of two that save at once, each finds what the other wrote.
///
/// `force`: keeps also what nobody should take for the GPU's own without being told to, a replay or a run beside
/// others, and lets the run replace what knows more than it.
///
/// Errors: `bad_input` for a simulated GPU, a replay (unless forced), a topology without a UUID, or one that `load`
/// would refuse; `unavailable` for a run beside others (unless forced); `io` where no folder can be written (with the
/// reason of each); `interrupted`.
Expected<Saved> save(const Topology& run, const Environment& environment, bool force = false);

/// What the store has for one GPU.
struct Lookup {
  std::optional<Topology> topology;
  std::string path;                   ///< the file it came from
  std::vector<std::string> refusals;  ///< why a file or folder that is there wasn't used, and what to do: a line each
};

/// The stored topology of the GPU with this UUID under this driver version, from the first folder that has an
/// acceptable one. Never fails: whatever is wrong with a file only leaves its line in `refusals`.
Lookup load(std::string_view uuid, std::string_view driver_version, const Environment& environment);

/// Reads a topology from contents of a store's file: what `load` does after opening it. Errors: `unavailable`
/// for one of another driver, `bad_input` for anything else.
Expected<Topology> read_stored(std::string_view text, std::string_view uuid, std::string_view driver_version);

/// True for "GPU-" and up to 60 more letters, digits and hyphens: what may become a file name.
bool is_uuid(std::string_view uuid);

}  // namespace gputopo::store
