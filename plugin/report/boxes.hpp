// A GPU's memories as boxes in one another, in characters, as likwid-topology draws a CPU's caches.
#pragma once

#include <string>

#include "report/report.hpp"

namespace gputopo::report {

/// From the SM outwards: what an SM has in a box of its own, what groups of SMs share, what all do, memory last. No
/// wider than options.width; empty where no memory has a size. Bounds, the driver's word and what isn't known are
/// marked in the box; what nobody knows the sharers of stands outside the SM.
std::string boxes(const Topology& topology, const Options& options);

}  // namespace gputopo::report
