// Topology as JSON, schema "gputopo-topology/1" (docs/schema/topology-1.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo {

inline constexpr std::string_view topology_schema = "gputopo-topology/1";

/// One Estimate as a JSON object; whole values are written as integers.
nlohmann::ordered_json to_json(const Estimate& estimate);
/// With a checksum over all the rest as its last member (docs/formats.md).
nlohmann::ordered_json to_json(const Topology& topology);

/// Any JSON as every command writes it: two-space indentation, ASCII alone (so that no text in it can steer a
/// terminal), a newline at the end.
std::string json_text(const nlohmann::ordered_json& json);

/// The text of a file: two-space indentation, keys in a fixed order, a newline at the end.
std::string to_json_text(const Topology& topology);

/// A topology as a file holds it.
struct ReadTopology {
  Topology topology;
  bool has_checksum = false;  ///< and it fits; false for what was written by hand or before there were checksums
};

/// Reads what `to_json_text` wrote. Unknown keys are ignored, scope, instances_per_scope, physical_cache
/// and structure may be missing; anything missing, of the wrong type, negative where it
/// can't be, nested deeper than the schema or naming an unknown status or scope is `bad_input` with the JSON path, and
/// so is a checksum that doesn't fit.
Expected<ReadTopology> read_topology(std::string_view text);
/// The topology alone, for texts that needn't have a checksum.
Expected<Topology> parse_topology(std::string_view text);

/// As read_topology, of one topology or an array of at least one: what is written of a machine with several GPUs.
Expected<std::vector<ReadTopology>> read_topologies(std::string_view text);

}  // namespace gputopo
