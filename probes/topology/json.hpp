// Topology as JSON, schema "gputopo-topology/1" (docs/schema/topology-1.json).
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "topology/error.hpp"
#include "topology/topology.hpp"

namespace gputopo {

inline constexpr std::string_view topology_schema = "gputopo-topology/1";

/// One Estimate as a JSON object; whole values are written as integers.
nlohmann::ordered_json to_json(const Estimate& estimate);
nlohmann::ordered_json to_json(const Topology& topology);

/// The text of a file: two-space indentation, keys in a fixed order, a newline at the end.
std::string to_json_text(const Topology& topology);

/// Reads what `to_json_text` wrote. Unknown keys are ignored, scope, instances_per_scope, physical_cache
/// and structure may be missing; anything missing, of the wrong type, negative where it
/// can't be, nested deeper than the schema or naming an unknown status or scope is `bad_input` with the JSON path.
Expected<Topology> parse_topology(std::string_view text);

}  // namespace gputopo
