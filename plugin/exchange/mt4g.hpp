// A GPU as mt4g 1.x writes it (github.com/caps-tum/mt4g), which sys-sage (github.com/caps-tum/sys-sage) reads.
#pragma once

#include <string>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::exchange {

/// One JSON object. Holds every field of the format whose value is measured, told by the driver or a model's own truth,
/// and nothing else; what sys-sage's parser takes only together (a latency of L2 or device memory with both bandwidths,
/// the two constant caches) is left out unless all of it is there. docs/formats.md lists what the format can't say.
///
/// Error: `bad_input` where a member that the parser insists on isn't known, with the names of all of them.
Expected<std::string> mt4g_text(const Topology& topology);

}  // namespace gputopo::exchange
