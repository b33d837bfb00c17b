#include <fmt/format.h>

#include "store/store.hpp"
#include "store/trusted_file.hpp"
#include "topology/check.hpp"
#include "topology/json.hpp"

namespace gputopo::store {

bool is_uuid(std::string_view uuid) {
  constexpr std::string_view prefix = "GPU-";
  constexpr std::size_t longest = 64;
  if (uuid.size() <= prefix.size() || uuid.size() > longest || !uuid.starts_with(prefix)) return false;
  return uuid.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") == uuid.npos;
}

Expected<Topology> read_stored(std::string_view text, std::string_view uuid, std::string_view driver_version) {
  auto read = read_topology(text);
  if (!read) return tl::unexpected<Error>(read.error());
  if (!read->has_checksum) return fail(Error::Kind::bad_input, "it has no checksum, so nothing tells what was altered");
  Expected<Topology> topology = std::move(read->topology);
  if (const auto checked = check(*topology); !checked) return tl::unexpected<Error>(checked.error());
  if (topology->gpu.uuid != uuid)
    return fail(Error::Kind::bad_input, fmt::format("it describes GPU {}, not {}", topology->gpu.uuid, uuid));
  if (topology->provenance.simulated) return fail(Error::Kind::bad_input, "it describes a simulated GPU");
  if (topology->provenance.driver_version != driver_version)
    return fail(Error::Kind::unavailable, fmt::format("it was measured under driver {}, and driver {} is running",
                                                      topology->provenance.driver_version, driver_version));
  return topology;
}

Lookup load(std::string_view uuid, std::string_view driver_version, const Environment& environment) {
  Lookup found;
  if (!is_uuid(uuid)) return found;
  const std::string name = std::string(uuid) + ".json";
  for (const std::string& path : folders(environment)) {
    const auto folder = open_trusted_folder(path, environment);
    if (!folder) {
      if (!folder.error().absent) found.refusals.push_back(folder.error().line());
      continue;
    }
    const std::string shown = fmt::format("{}/{}", path, name);
    const auto text = read_trusted_file(*folder, name, shown, environment);
    if (!text) {
      if (!text.error().absent) found.refusals.push_back(text.error().line());
      continue;
    }
    auto topology = read_stored(*text, uuid, driver_version);
    if (!topology) {
      found.refusals.push_back(
          fmt::format("{}: {}; run gputopo discover --all-gpus --save again", shown, topology.error().message));
      continue;
    }
    found.topology = std::move(*topology);
    found.path = shown;
    return found;
  }
  return found;
}

}  // namespace gputopo::store
