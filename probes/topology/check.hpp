// Whether a topology that came from outside makes sense as a whole: parse_topology looks at types alone.
#pragma once

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo {

/// `bad_input`, with what and where, unless all of this holds:
/// - memory ids differ and no memory is its own ancestor (a parent that wasn't measured may be missing);
/// - ids, names, labels, methods and units are printable ASCII of at most 256 characters (hwloc's XML and LIKWID's
///   tables take no more);
/// - instances lie between 1 and 2^20, SMs up to 2^20, values between 0 and 2^60, interval ends within 2^60 of 0;
/// - every interval contains its value and is of a known kind;
/// - a member (scope, instances_per_scope, physical_cache) and the usable statement of how it was found agree;
/// - there are at most 256 memories of at most 64 attributes.
Expected<void> check(const Topology& topology);

}  // namespace gputopo
